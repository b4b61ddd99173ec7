"""The command line: `python3 -m peers_mail --help`."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

from shared import whole_run
from shared.markdown import command
from shared.showdown import ENGINE

from . import report
from .clients import CLIENTS, Client, Task
from .servers import Postfix, Sink

TOOLS = ["postfix", "postconf", "smtp-source", "smtp-sink"]
COUNT_SECONDS = 0.3
"""Postfix's log is written by a process of its own."""
MEMORY = "/dev/shm"
MESSAGES_PER_SECOND = {(Postfix.name, False): 900, (Postfix.name, True): 1_200, (Sink.name, False): 6_000, (Sink.name, True): 14_000}
"""About what a server takes on one CPU. Times the seconds of a run it gives the number of messages."""


def main() -> int:
    """Measures all rounds and writes the page."""
    options = whole_run.options("bench-peers-mail", "Engine and smtp-source on mail servers, interleaved.", 3)
    absent = [tool for tool in TOOLS if not shutil.which(tool)]
    missing = None
    if absent:
        missing = f"not installed: {', '.join(absent)}: run scripts/install-packages bench"
    elif os.geteuid() != 0:
        missing = "Postfix needs root: run as root"
    return whole_run.main(
        "bench-peers-mail", options.report_only, missing, lambda: report.PAGE.write(options.results), lambda: _measure(options)
    )


def _measure(options: argparse.Namespace) -> Path:
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="showdown-peers-mail-", dir=MEMORY)))
        directory.chmod(0o755)
        servers = [stack.enter_context(kind(directory, options.server_cpu)) for kind in (Postfix, Sink)]
        engine = str(options.engine.resolve())
        tasks = [
            Task(server, is_kept, options.connections, options.seconds * MESSAGES_PER_SECOND[server.name, is_kept], engine)
            for server in servers
            for is_kept in (False, True)
        ]

        def run(turn: tuple[Task, Client]) -> dict[str, object]:
            return {"server": _place(turn[0]), "client": turn[1].name, **_cycles(*turn, directory, options)}

        turns = [(task, client) for task in tasks for client in CLIENTS]
        rows = whole_run.in_rounds(turns, options, run, lambda turn: f"{_place(turn[0])}: {turn[1].name}")
        settings = whole_run.settings(
            options,
            ["postfix"],
            [
                command([ENGINE, *client.argv(task)[1:]] if client.name == ENGINE else client.argv(task), directory)
                for task, client in turns
            ],
        ) | {"seconds of a run": f"about {options.seconds}"}
    return report.PAGE.save(rows, settings, options.results)


def _place(task: Task) -> str:
    return report.place(task.server.name, task.is_kept)


def _cycles(task: Task, client: Client, directory: Path, options: argparse.Namespace) -> dict[str, object]:
    run = whole_run.Run(
        client.argv(task),
        client.exit_codes,
        lambda output: client.claimed(task, output),
        "messages",
        None if task.server.messages() is None else task.server.messages,
        COUNT_SECONDS,
    )
    return whole_run.cycles(run, directory / "output", options)


if __name__ == "__main__":
    whole_run.exit_with(main)
