"""The command line: `python3 -m peers_db --help`."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from peers import machine, meter, whole
from peers.clients import BadRun
from peers.markdown import command

from . import report
from .clients import CLIENTS, ENGINE, ROWS, Client, Task
from .servers import USER, Database, Mariadb, Postgres, ServerError

REPOSITORY = Path(__file__).resolve().parents[2]
TOOLS = ["mariadbd", "mariadb", "sysbench", "postgres", "psql", "pgbench", "setpriv"]
PACKAGES = ["mariadb-server", "postgresql", "sysbench", "postgresql-contrib"]
ATTEMPTS = 5
COUNT_SECONDS = 1.5
"""PostgreSQL adds up a session's counts when it ends, and once a second."""


def main() -> int:
    """Runs all rounds and writes the report."""
    about = "Engine and peers on databases, interleaved."
    options = whole.options("bench-peers-db", about, 5, REPOSITORY / "docs/results")
    for directory in sorted(Path("/usr/lib/postgresql").glob("*/bin")):
        os.environ["PATH"] += f":{directory}"
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        print(f"bench-peers-db: not installed: {', '.join(missing)}: run scripts/install-packages bench", file=sys.stderr)
        return 1
    try:
        print(_measure(options))
    except (BadRun, ServerError, meter.MeterError) as error:
        print(f"bench-peers-db: {error}", file=sys.stderr)
        return 1
    return 0


def _measure(options: argparse.Namespace) -> Path:
    order, rows = random.Random(options.seed), []
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="showdown-peers-db-")))
        directory.chmod(0o755)
        servers = {kind.name: stack.enter_context(kind(directory, options.server_cpu)) for kind in (Mariadb, Postgres)}
        engine = str(options.engine.resolve())
        tasks = {
            name: Task(server, options.connections, options.seconds, engine, directory)
            for name, server in servers.items()
        }
        _fill(tasks)
        for number in range(1, options.rounds + 1):
            for place, client in enumerate(order.sample(CLIENTS, len(CLIENTS)), start=1):
                print(f"round {number}/{options.rounds}: {client.server} {client.name}", file=sys.stderr, flush=True)
                found = _attempt(client, tasks[client.server], options)
                rows.append({"round": number, "server": client.server, "client": client.name, "order": place, **found})
        settings = {
            **machine.facts(REPOSITORY, options.engine),
            "packages": ", ".join(f"{name} {machine.version(name)}" for name in PACKAGES),
            "rounds": options.rounds,
            "connections": options.connections,
            "seconds of a run": options.seconds,
            "seed": options.seed,
            "noise": "tolerated" if options.tolerate_noise else "refused",
            "commands": [
                command([ENGINE, *client.argv(task)[1:]] if client.name == ENGINE else client.argv(task), directory)
                for client in CLIENTS
                for task in [tasks[client.server]]
            ],
        }
    return report.write(rows, settings, options.results)


def _fill(tasks: dict[str, Task]) -> None:
    """The engine's tables for all, and pgbench's own."""
    for task in tasks.values():
        argv = [task.engine, "load", task.server.url(), "--rows", str(ROWS), "--populate", "-n", "1", "-c", "8", "--seed", "1"]
        _run(argv, (0, 3))
    postgres: Database = tasks[Postgres.name].server
    _run(["pgbench", "-h", "127.0.0.1", "-p", str(postgres.port), "-U", USER, "-i", "-q", postgres.database], (0,))


def _run(argv: list[str], exit_codes: tuple[int, ...]) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode not in exit_codes:
        raise BadRun(f"{argv[0]}: {done.stdout.strip()[-300:]} {done.stderr.strip()[-300:]}")


def _attempt(client: Client, task: Task, options: argparse.Namespace) -> dict[str, object]:
    def once() -> dict[str, object]:
        run = whole.Run(
            client.argv(task), client.exit_codes, client.claimed, "statements", task.server.statements, COUNT_SECONDS
        )
        return whole.cycles(run, task.directory / "output", options.client_cpu, options.floor, options.tolerate_noise)

    return whole.attempt(once, ATTEMPTS, lambda text: print(text, file=sys.stderr, flush=True))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
