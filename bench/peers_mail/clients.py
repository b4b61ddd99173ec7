"""How each client is called for the same work, so many messages, and how its output is judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from peers.clients import BadRun, engine_answer

from .servers import DOMAIN, MailServer

ENGINE, SOURCE = "showdown", "smtp-source"
LENGTH = 4096
"""Bytes of a message that smtp-source is asked for; its header comes on top."""
MESSAGE_BYTES = 4232
"""The whole of that message as smtp-sink gets it, give or take the length of the host's name."""
FROM, TO = "sender@client.example", f"user@{DOMAIN}"
ENDLESS = 1_000_000_000


@dataclass(frozen=True)
class Task:
    """What a client is asked to do."""

    server: MailServer
    is_kept: bool
    """A connection is kept for one message after the other; otherwise each message has its own."""
    connections: int
    messages: int
    engine: str


@dataclass(frozen=True)
class Client:
    """A program and how to read its output."""

    name: str
    argv: Callable[[Task], list[str]]
    claimed: Callable[[Task, str], tuple[int, float | None]]
    """Messages by the client's own account. Raises BadRun on errors."""
    exit_codes: tuple[int, ...] = (0,)


def _engine(task: Task) -> list[str]:
    # One command at a time and QUIT waited for, as smtp-source has it.
    kept = ["--requests-per-connection", str(ENDLESS)] if task.is_kept else []
    return [task.engine, "load", f"smtp://127.0.0.1:{task.server.port}", "-c", str(task.connections), "-t", "1",
            "-n", str(task.messages), "--seed", "1", "--no-pipelining", "--message-size", str(MESSAGE_BYTES),
            "--mail-from", FROM, "--rcpt-to", TO, *kept, "--format", "json", "--progress", "none"]  # fmt: skip


def _engine_claimed(task: Task, output: str) -> tuple[int, float | None]:
    answer = engine_answer(output)
    if answer["requests"] != task.messages or answer["failed"]:
        raise BadRun(f"{answer['requests']} messages and {answer['failed']} failures: {answer['error_examples']}")
    return answer["counters"]["messages"], float(answer["throughput_per_s"])


def _source(task: Task) -> list[str]:
    kept = ["-d"] if task.is_kept else []
    return ["smtp-source", *kept, "-s", str(task.connections), "-m", str(task.messages), "-l", str(LENGTH),
            "-f", FROM, "-t", TO, f"127.0.0.1:{task.server.port}"]  # fmt: skip


def _source_claimed(task: Task, output: str) -> tuple[int, float | None]:
    # Whatever it says is a complaint; where all went well it says nothing.
    if output.strip():
        raise BadRun(output.strip()[-300:])
    return task.messages, None


CLIENTS = [
    # Exit code 3: the engine calls a run invalid whose client was the limit.
    Client(ENGINE, _engine, _engine_claimed, exit_codes=(0, 3)),
    Client(SOURCE, _source, _source_claimed),
]
