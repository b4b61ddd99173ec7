"""The command line of each client for the same work, and how its output is checked.

A new peer is one entry here: a command line, and a function that returns the client's own count of requests, or raises
`BadRun` when the output reports errors. Those without a package of a distribution are in `OPTIONAL`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterable

from shared.errors import BadRun
from shared.showdown import ENGINE, json_object, load_answer

from .servers import BODY_BYTES, FLOOR_KEY, MARKER

HTTP, MEMCACHED, TLS = "http", "memcached", "tls"
FLOOR = "floor"


@dataclass(frozen=True)
class Task:
    """The work of a client. All clients have one thread and keep one request in flight on each connection."""

    address: str
    connections: int
    seconds: int
    directory: Path
    """A place for the configuration files of the client."""
    binaries: dict[str, str]
    """Paths of the engine and the floor, which this repository builds, and of the optional peers."""


@dataclass(frozen=True)
class Client:
    """A program, its protocol, and how its output is parsed."""

    name: str
    protocol: str
    argv: Callable[[Task], list[str]]
    claimed: Callable[[str], int]
    """The client's own count of requests, from its whole output. Raises BadRun on errors."""
    exit_codes: tuple[int, ...] = (0,)
    chooses_cpu_0: bool = False
    """Whether the client pins itself to CPU 0. The server then moves to the client's CPU."""
    extra_seconds: int = 0
    """Seconds of its duration that the client spends on preparation."""
    uncounted_seconds: float = 0
    """Seconds of load before the client begins to count."""
    spinning: Callable[[str], float] | None = None
    """The share of its CPU time that it spins, from its whole output: polls that find no work. None: it does not say."""
    paced: Callable[[Task, int], list[str]] | None = None
    """The command line of an open loop at a rate, in requests per second; None without such a mode."""


def _number(pattern: str, output: str) -> int:
    found = re.search(pattern, output)
    if not found:
        raise BadRun(f"no match for {pattern!r} in the output: {output.strip()[-300:]}")
    return int(found[1])


def _refuse(pattern: str, output: str) -> None:
    found = re.search(pattern, output, re.MULTILINE)
    if found:
        raise BadRun(f"errors: {found[0].strip()}")


# The engine, with everything switched on: full recording, and a check of every reply.

MIX = f"""[[op]]
name   = "get-1k"
path   = "/1k"
expect = {{ status = 200, bytes = {BODY_BYTES}, contains = "{MARKER}" }}
"""


def engine_http_argv(task: Task, scheme: str = "http") -> list[str]:
    """The engine with a mix of one operation."""
    mix = task.directory / "mix.toml"
    mix.write_text(MIX)
    return _engine(task, f"{scheme}://{task.address}") + ["--ops", str(mix)]


def _engine_memcached_argv(task: Task) -> list[str]:
    keys = ["--keys", "1000", "--value-size", str(BODY_BYTES), "--populate"]
    return _engine(task, f"memcache://{task.address}") + keys


def _engine(task: Task, url: str) -> list[str]:
    shape = ["-c", str(task.connections), "-t", "1", "-d", f"{task.seconds}s", "--seed", "1"]
    return [task.binaries[ENGINE], "load", url, *shape, "--format", "json", "--progress", "none"]


def _engine_claimed(output: str) -> int:
    return int(load_answer(output)["requests"])


def _engine_spinning(output: str) -> float:
    client = load_answer(output)["client"]
    return client["spin_cpu_s"] / max(client["user_cpu_s"] + client["system_cpu_s"], 1e-9)


# Peers.


def _floor_claimed(output: str) -> int:
    return _number(r'"requests": (\d+)', output)


def _wrk_claimed(output: str) -> int:
    _refuse(r"^\s*(Socket errors|Non-2xx).*$", output)
    return _number(r"(\d+) requests in", output)


def _ab_claimed(output: str) -> int:
    _refuse(r"^(Failed requests:\s+[1-9]|Non-2xx responses|Write errors).*$", output)
    return _number(r"Complete requests:\s+(\d+)", output)


def _h2load_claimed(output: str) -> int:
    _refuse(r"^requests:.* ([1-9]\d* failed|[1-9]\d* errored|[1-9]\d* timeout).*$", output)
    _refuse(r"^status codes:.* [1-9]\d* [345]xx.*$", output)
    return _number(r"(\d+) succeeded", output)


def _hey_claimed(output: str) -> int:
    _refuse(r"^Error distribution:(\n.*){1,2}", output)
    _refuse(r"^\s*\[[13-5]\d\d\]\s.*$", output)
    return _number(r"\[200\]\s+(\d+) responses", output)


def _memcaslap_argv(task: Task) -> list[str]:
    config = task.directory / "memcaslap.cfg"
    # Keys of 16 bytes, the shortest possible; values of one size; gets only.
    config.write_text(f"key\n16 16 1\nvalue\n{BODY_BYTES} {BODY_BYTES} 1\ncmd\n0 0\n1 1\n")
    shape = ["-T", "1", "-c", str(task.connections), "-t", f"{task.seconds}s", "-w", "1k"]
    return ["memcaslap", "-s", task.address, *shape, "-F", str(config)]


def _memcaslap_claimed(output: str) -> int:
    _refuse(r"^get_misses: [1-9].*$", output)
    return _number(r"cmd_get: (\d+)", output)


# Peers that no distribution has: they are measured where a person names their binaries.


def _optional(name: str, *argv: str) -> Callable[[Task], list[str]]:
    words = _tool(*argv)
    return lambda task: [task.binaries[name], *words(task)]


def _json_claimed(count: str) -> Callable[[str], int]:
    """The count of requests in a JSON object that has `errors` and classes of statuses, too."""

    def claimed(output: str) -> int:
        answer = json_object(output)
        statuses = answer.get("status", answer.get("status_codes", {}))
        bad = {kind: number for kind, number in {**answer.get("errors", {}), **statuses}.items() if number and kind != "2xx"}
        if bad:
            raise BadRun(f"errors: {bad}")
        if count not in answer:
            raise BadRun(f"no {count} in the output: {output.strip()[-300:]}")
        return int(answer[count])

    return claimed


def _zrk_paced(task: Task, rate: int) -> list[str]:
    return _optional("zrk", "-t", "1", "-c", "{connections}", "-d", "{seconds}s", "-R", str(rate), "--format", "json", "http://{address}/1k")(task)


def _tool(*argv: str) -> Callable[[Task], list[str]]:
    """A command line with the placeholders {address}, {connections} and {seconds}."""

    def fill(task: Task) -> list[str]:
        values = {"address": task.address, "connections": task.connections, "seconds": task.seconds}
        return [word.format(**values) for word in argv]

    return fill


CLIENTS = [
    Client(
        FLOOR, HTTP,
        lambda task: [task.binaries[FLOOR], "http", task.address, "/1k", str(task.connections), str(task.seconds)],
        _floor_claimed,
    ),
    # Exit code 3: the engine reports that the client was the limit, which is intended here.
    Client(
        ENGINE, HTTP, engine_http_argv, _engine_claimed, exit_codes=(0, 3), spinning=_engine_spinning,
        paced=lambda task, rate: [*engine_http_argv(task), "-r", str(rate)],
    ),
    Client("wrk", HTTP, _tool("wrk", "-t1", "-c{connections}", "-d{seconds}s", "http://{address}/1k"), _wrk_claimed),
    Client(
        "ab", HTTP,
        _tool("ab", "-q", "-k", "-c{connections}", "-t{seconds}", "-n5000000", "http://{address}/1k"),
        _ab_claimed,
    ),
    Client(
        "h2load", HTTP,
        _tool("h2load", "--h1", "-t1", "-c{connections}", "-m1", "-D{seconds}", "http://{address}/1k"),
        _h2load_claimed,
    ),
    Client(
        "hey", HTTP,
        _tool("hey", "-cpus", "1", "-c", "{connections}", "-z", "{seconds}s", "http://{address}/1k"),
        _hey_claimed,
    ),
    Client(
        FLOOR, MEMCACHED,
        lambda task: [
            task.binaries[FLOOR], "memcached", task.address, FLOOR_KEY, str(task.connections), str(task.seconds)
        ],
        _floor_claimed,
    ),
    Client(
        ENGINE, MEMCACHED, _engine_memcached_argv, _engine_claimed, exit_codes=(0, 3), spinning=_engine_spinning
    ),
    Client(
        "memcaslap", MEMCACHED, _memcaslap_argv, _memcaslap_claimed, chooses_cpu_0=True, extra_seconds=1
    ),
    Client(
        ENGINE, TLS, lambda task: engine_http_argv(task, "https"), _engine_claimed, exit_codes=(0, 3),
        spinning=_engine_spinning,
    ),
    Client(
        "h2load", TLS,
        _tool("h2load", "--h1", "-t1", "-c{connections}", "-m1", "-D{seconds}", "https://{address}/1k"),
        _h2load_claimed,
    ),
]  # fmt: skip

OPTIONAL = {
    client.name: client
    for client in (
        # io_uring. It warms up for a tenth of a second, which it does not count.
        Client(
            "gcannon", HTTP,
            _optional("gcannon", "http://{address}/1k", "-c", "{connections}", "-t", "1", "-d", "{seconds}s", "--json"),
            _json_claimed("responses"), uncounted_seconds=0.1,
        ),
        Client(
            "zrk", HTTP,
            _optional("zrk", "-t", "1", "-c", "{connections}", "-d", "{seconds}s", "--closed", "--format", "json", "http://{address}/1k"),
            _json_claimed("requests"), paced=_zrk_paced,
        ),
    )
}  # fmt: skip
"""Peers without a package, by name: `--peer gcannon=PATH`."""


def named(names: Iterable[str]) -> list[Client]:
    """All clients, with these optional ones."""
    return CLIENTS + [OPTIONAL[name] for name in OPTIONAL if name in set(names)]
