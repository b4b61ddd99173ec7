"""The command line: `python3 -m peers_db --help`."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

from shared import whole_run
from shared.errors import BadRun
from shared.markdown import command
from shared.showdown import ENGINE

from . import report
from .clients import CLIENTS, ROWS, Client, Task
from .servers import USER, Database, Mariadb, Postgres

TOOLS = ["mariadbd", "mariadb", "sysbench", "postgres", "psql", "pgbench", "setpriv"]
PACKAGES = ["mariadb-server", "postgresql", "sysbench", "postgresql-contrib"]
COUNT_SECONDS = 1.5
"""PostgreSQL publishes a session's counts when it ends, and once per second."""


def main() -> int:
    """Measures all rounds and writes the page."""
    options = whole_run.options("bench-peers-db", "Engine and peers on databases, interleaved.", 5)
    for directory in sorted(Path("/usr/lib/postgresql").glob("*/bin")):
        os.environ["PATH"] += f":{directory}"
    absent = [tool for tool in TOOLS if not shutil.which(tool)]
    missing = f"not installed: {', '.join(absent)}: run scripts/install-packages bench" if absent else None
    return whole_run.main(
        "bench-peers-db", options.report_only, missing, lambda: report.PAGE.write(options.results), lambda: _measure(options)
    )


def _measure(options: argparse.Namespace) -> Path:
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

        def run(client: Client) -> dict[str, object]:
            return {"server": client.server, "client": client.name, **_cycles(client, tasks[client.server], options)}

        rows = whole_run.in_rounds(CLIENTS, options, run, lambda client: f"{client.server} {client.name}")
        settings = whole_run.settings(
            options,
            PACKAGES,
            [
                command([ENGINE, *client.argv(task)[1:]] if client.name == ENGINE else client.argv(task), directory)
                for client in CLIENTS
                for task in [tasks[client.server]]
            ],
        )
    return report.PAGE.save(rows, settings, options.results)


def _fill(tasks: dict[str, Task]) -> None:
    """Makes the engine's tables, which the other clients use too, and pgbench's own."""
    for task in tasks.values():
        argv = [task.engine, "load", task.server.url(), "--rows", str(ROWS), "--populate", "-n", "1", "-c", "8", "--seed", "1"]
        _run(argv, (0, 3))
    postgres: Database = tasks[Postgres.name].server
    _run(["pgbench", "-h", "127.0.0.1", "-p", str(postgres.port), "-U", USER, "-i", "-q", postgres.database], (0,))


def _run(argv: list[str], exit_codes: tuple[int, ...]) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode not in exit_codes:
        raise BadRun(f"{argv[0]}: exit code {done.returncode}: {done.stdout.strip()[-300:]} {done.stderr.strip()[-300:]}")


def _cycles(client: Client, task: Task, options: argparse.Namespace) -> dict[str, object]:
    run = whole_run.Run(
        client.argv(task), client.exit_codes, client.claimed, "statements", task.server.statements, COUNT_SECONDS
    )
    return whole_run.cycles(run, task.directory / "output", options)


if __name__ == "__main__":
    whole_run.exit_with(main)
