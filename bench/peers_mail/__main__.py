"""The command line: `python3 -m peers_mail --help`."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from peers import machine, meter, whole
from peers.clients import BadRun
from peers.markdown import command

from . import report
from .clients import CLIENTS, ENGINE, Client, Task
from .servers import Postfix, ServerError, Sink

REPOSITORY = Path(__file__).resolve().parents[2]
TOOLS = ["postfix", "postconf", "smtp-source", "smtp-sink"]
ATTEMPTS = 5
COUNT_SECONDS = 0.3
"""Postfix's log is written by a process of its own."""
MEMORY = "/dev/shm"
MESSAGES_A_SECOND = {(Postfix.name, False): 900, (Postfix.name, True): 1_200, (Sink.name, False): 6_000, (Sink.name, True): 14_000}
"""About what a server takes on one CPU; times the seconds of a run, how many messages are sent."""


def main() -> int:
    """Runs all rounds and writes the report."""
    about = "Engine and smtp-source on mail servers, interleaved."
    options = whole.options("bench-peers-mail", about, 3, REPOSITORY / "docs/results")
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing or os.geteuid() != 0:
        what = f"not installed: {', '.join(missing)}: run scripts/install-packages bench" if missing else "Postfix needs root"
        print(f"bench-peers-mail: {what}", file=sys.stderr)
        return 1
    try:
        print(_measure(options))
    except (BadRun, ServerError, meter.MeterError) as error:
        print(f"bench-peers-mail: {error}", file=sys.stderr)
        return 1
    return 0


def _measure(options: argparse.Namespace) -> Path:
    order, rows = random.Random(options.seed), []
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="showdown-peers-mail-", dir=MEMORY)))
        directory.chmod(0o755)
        servers = [stack.enter_context(kind(directory, options.server_cpu)) for kind in (Postfix, Sink)]
        engine = str(options.engine.resolve())
        tasks = [
            Task(server, is_kept, options.connections, options.seconds * MESSAGES_A_SECOND[server.name, is_kept], engine)
            for server in servers
            for is_kept in (False, True)
        ]
        for number in range(1, options.rounds + 1):
            turns = [(task, client) for task in tasks for client in CLIENTS]
            for turn, (task, client) in enumerate(order.sample(turns, len(turns)), start=1):
                where = report.place(task.server.name, task.is_kept)
                print(f"round {number}/{options.rounds}: {where}: {client.name}", file=sys.stderr, flush=True)
                found = _attempt(client, task, directory, options)
                rows.append({"round": number, "server": where, "client": client.name, "order": turn, **found})
        settings = {
            **machine.facts(REPOSITORY, options.engine),
            "packages": f"postfix {machine.version('postfix')}",
            "rounds": options.rounds,
            "connections": options.connections,
            "seconds of a run": f"about {options.seconds}",
            "seed": options.seed,
            "noise": "tolerated" if options.tolerate_noise else "refused",
            "commands": [
                command([ENGINE, *client.argv(task)[1:]] if client.name == ENGINE else client.argv(task), directory)
                for task in tasks
                for client in CLIENTS
            ],
        }
    return report.write(rows, settings, options.results)


def _attempt(client: Client, task: Task, directory: Path, options: argparse.Namespace) -> dict[str, object]:
    def once() -> dict[str, object]:
        run = whole.Run(
            client.argv(task),
            client.exit_codes,
            lambda output: client.claimed(task, output),
            "messages",
            None if task.server.messages() is None else task.server.messages,
            COUNT_SECONDS,
        )
        return whole.cycles(run, directory / "output", options.client_cpu, options.floor, options.tolerate_noise)

    return whole.attempt(once, ATTEMPTS, lambda text: print(text, file=sys.stderr, flush=True))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
