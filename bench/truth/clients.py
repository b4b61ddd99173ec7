"""The command lines of the engine and the peers, and the requests and response times that they report.

All have one thread. A figure that a client does not print is None. It is not derived from others.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from shared.errors import BadRun
from shared.showdown import json_object

PEERS = ("wrk", "ab", "h2load", "hey")


@dataclass(frozen=True)
class Report:
    """What a client reports about one run. Times are in microseconds."""

    requests: int
    failed: int
    p50: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    p99_9: float | None = None
    longest: float | None = None
    valid: bool = True
    reasons: str = ""
    extra: dict | None = None


Disturbance = Callable[[subprocess.Popen], AbstractContextManager]
"""What is done to a client while it runs."""


def engine(binary: str, url: str, cpu: int, *options: str, disturbed: Disturbance = nullcontext, timeout_s: float = 120) -> Report:
    """Runs the engine on one CPU with these options of `showdown load`."""
    argv = [binary, "load", url, "-t", "1", "--seed", "1", "--format", "json", "--progress", "none", *options]
    # Exit code 3: the engine calls the run invalid, which the row records.
    answer = json_object(_run(argv, cpu, (0, 3), timeout_s, disturbed))
    times = answer["response_time_us"]
    return Report(
        requests=answer["requests"],
        failed=answer["failed"],
        p50=times["p50"], p90=times["p90"], p95=times["p95"], p99=times["p99"], p99_9=times["p99_9"],
        longest=times["max"],
        valid=answer["valid"],
        reasons="; ".join(answer["reasons"]),
        extra=answer,
    )  # fmt: skip


def peer(name: str, address: str, cpu: int, connections: int, seconds: int, rate: int | None = None) -> Report:
    """Runs a peer in a closed loop, or at a rate if it has an option for one."""
    url = f"http://{address}/"
    at = str(connections)
    argv = {
        "wrk": ["wrk", "-t1", f"-c{at}", f"-d{seconds}s", "--latency", url],
        "ab": ["ab", "-q", "-k", f"-c{at}", f"-t{seconds}", "-n50000000", url],
        "h2load": ["h2load", "--h1", "-t1", f"-c{at}", "-m1", f"-D{seconds}", url],
        "hey": ["hey", "-cpus", "1", "-c", at, "-z", f"{seconds}s", url],
    }[name]
    if rate is not None:
        each = max(1, round(rate / connections))
        argv[-1:-1] = {"hey": ["-q", str(each)], "h2load": [f"--rps={each}"]}[name]
    return READERS[name](_run(argv, cpu, (0,), seconds + 60))


def has_rate(name: str) -> bool:
    """Whether a peer has an option for a rate."""
    return name in ("hey", "h2load")


UNITS = {"us": 1.0, "ms": 1e3, "s": 1e6, "m": 60e6}


def _us(text: str) -> float:
    """`1.23ms` as microseconds."""
    found = re.fullmatch(r"([\d.]+)(us|ms|s|m)", text)
    if not found:
        raise BadRun(f"not a time: {text!r}")
    return float(found[1]) * UNITS[found[2]]


def _find(pattern: str, output: str) -> str | None:
    found = re.search(pattern, output, re.MULTILINE)
    return found[1] if found else None


def _count(pattern: str, output: str) -> int:
    return int(_find(pattern, output) or 0)


def _wrk(output: str) -> Report:
    at = lambda share: _time(_find(rf"^\s+{share}%\s+(\S+)$", output))  # noqa: E731
    longest = _find(r"^\s+Latency\s+\S+\s+\S+\s+(\S+)", output)
    return Report(
        requests=_count(r"(\d+) requests in", output),
        failed=_count(r"Non-2xx or 3xx responses: (\d+)", output),
        p50=at(50), p90=at(90), p99=at(99), longest=_time(longest),
    )  # fmt: skip


def _time(text: str | None) -> float | None:
    return None if text is None else _us(text)


def _ab(output: str) -> Report:
    # ab prints whole milliseconds.
    def at(share: int) -> float | None:
        found = _find(rf"^\s+{share}%\s+(\d+)", output)
        return None if found is None else float(found) * 1e3

    return Report(
        requests=_count(r"Complete requests:\s+(\d+)", output) - _count(r"Non-2xx responses:\s+(\d+)", output),
        failed=_count(r"Failed requests:\s+(\d+)", output),
        p50=at(50), p90=at(90), p95=at(95), p99=at(99), longest=at(100),
    )  # fmt: skip


def _h2load(output: str) -> Report:
    return Report(
        requests=_count(r"(\d+) succeeded", output),
        failed=_count(r"(\d+) failed", output),
        longest=_time(_find(r"^time for request:\s+\S+\s+(\S+)", output)),
    )


def _hey(output: str) -> Report:
    def at(share: int) -> float | None:
        found = _find(rf"^\s+{share}%+ in ([\d.]+) secs", output)
        return None if found is None else float(found) * 1e6

    longest = _find(r"^\s+Slowest:\s+([\d.]+) secs", output)
    return Report(
        requests=_count(r"\[200\]\s+(\d+) responses", output),
        failed=sum(int(n) for n in re.findall(r"\[[345]\d\d\]\s+(\d+) responses", output)),
        p50=at(50), p90=at(90), p95=at(95), p99=at(99),
        longest=None if longest is None else float(longest) * 1e6,
    )  # fmt: skip


READERS = {"wrk": _wrk, "ab": _ab, "h2load": _h2load, "hey": _hey}


def _run(argv: list[str], cpu: int, exit_codes: tuple[int, ...], timeout_s: float, disturbed: Disturbance = nullcontext) -> str:
    def prepare() -> None:
        os.sched_setaffinity(0, {cpu})
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdout=pipe, stderr=pipe, text=True, preexec_fn=prepare) as client:
        try:
            with disturbed(client):
                printed, errors = client.communicate(timeout=timeout_s)
        except BaseException:
            client.kill()
            raise
    if client.returncode not in exit_codes:
        raise BadRun(f"{argv[0]}: exit code {client.returncode}: {(errors or printed).strip()[-300:]}")
    return printed
