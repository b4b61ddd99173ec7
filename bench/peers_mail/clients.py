"""The command line of each client for the same work, a number of messages, and how its output is checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shared.errors import BadRun
from shared.showdown import ENGINE, load_answer

from .servers import DOMAIN, MailServer

SOURCE = "smtp-source"
LENGTH = 4096
"""Bytes of a message without its header, as smtp-source takes it."""
MESSAGE_BYTES = 4232
"""The same message with its header, as smtp-sink receives it. The length of the host's name can change it."""
FROM, TO = "sender@client.example", f"user@{DOMAIN}"
ENDLESS = 1_000_000_000


@dataclass(frozen=True)
class Task:
    """The work of a client."""

    server: MailServer
    is_kept: bool
    """Whether a connection carries one message after the other; otherwise each message has its own connection."""
    connections: int
    messages: int
    engine: str


@dataclass(frozen=True)
class Client:
    """A program, and how its output is parsed."""

    name: str
    argv: Callable[[Task], list[str]]
    claimed: Callable[[Task, str], tuple[int, float | None]]
    """Messages, and messages per second if printed, from the client's output. Raises BadRun on errors."""
    exit_codes: tuple[int, ...] = (0,)


def _engine(task: Task) -> list[str]:
    # One command at a time, and a wait for the answer to QUIT, as smtp-source does it.
    kept = ["--requests-per-connection", str(ENDLESS)] if task.is_kept else []
    return [task.engine, "load", f"smtp://127.0.0.1:{task.server.port}", "-c", str(task.connections), "-t", "1",
            "-n", str(task.messages), "--seed", "1", "--no-pipelining", "--message-size", str(MESSAGE_BYTES),
            "--mail-from", FROM, "--rcpt-to", TO, *kept, "--format", "json", "--progress", "none"]  # fmt: skip


def _engine_claimed(task: Task, output: str) -> tuple[int, float | None]:
    answer = load_answer(output)
    if answer["requests"] != task.messages or answer["failed"]:
        raise BadRun(f"{answer['requests']} messages and {answer['failed']} failures: {answer['error_examples']}")
    return answer["counters"]["messages"], float(answer["throughput_per_s"])


def _source(task: Task) -> list[str]:
    kept = ["-d"] if task.is_kept else []
    return ["smtp-source", *kept, "-s", str(task.connections), "-m", str(task.messages), "-l", str(LENGTH),
            "-f", FROM, "-t", TO, f"127.0.0.1:{task.server.port}"]  # fmt: skip


def _source_claimed(task: Task, output: str) -> tuple[int, float | None]:
    # smtp-source prints errors only.
    if output.strip():
        raise BadRun(output.strip()[-300:])
    return task.messages, None


CLIENTS = [
    # Exit code 3: the engine reports that the client was the limit, which is intended here.
    Client(ENGINE, _engine, _engine_claimed, exit_codes=(0, 3)),
    Client(SOURCE, _source, _source_claimed),
]
