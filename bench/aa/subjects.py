"""What is compared: a server with itself, or with a copy that does a known share of extra work."""

from __future__ import annotations

from dataclasses import dataclass, replace

KNOWN = "truth/known"
"""The workload under bench/ whose server is showdown's own known server."""


@dataclass(frozen=True)
class Subject:
    """One kind of comparison of the series."""

    name: str
    variants: tuple[str, str]
    workload: str
    truth: float
    """Throughput of the first variant ÷ that of the second."""
    options: tuple[str, ...]
    """Of `showdown compare`."""
    what: str
    """In words, for the page."""

    @property
    def is_null(self) -> bool:
        """Nothing differs, and whatever is found is false."""
        return self.truth == 1.0


QUICK = ("--quick",)
SHORT = (*QUICK, "--measure", "throughput", "--blocks", "8")
"""Eight blocks of the quick length in a closed loop: about 22 s."""

TWO = (*SHORT, "--connections", "2")
"""The same with two connections: with more, one CPU of client is memcached's limit."""

AT_A_RATE = (*QUICK, "--measure", "latency", "--rates", "40000", "--blocks", "8")
"""For a server that answers faster than one CPU's client can ask: as fast as it goes would measure the client."""


def _slowed(percent: int, length: str) -> Subject:
    options = SHORT if length == "short" else ("--measure", "throughput")
    return Subject(
        f"known-{percent}%-{length}",
        ("known", f"known:extra_work={10 * percent}"),
        KNOWN,
        1 + percent / 100,
        options,
        f"a server and the same with {percent} % more work a request, closed loop, {'8 short blocks' if length == 'short' else 'default length'}",
    )


SUBJECTS = [
    Subject("nginx", ("nginx", "nginx"), "static-web", 1.0, SHORT, "nginx with itself, closed loop, 8 short blocks"),
    Subject("memcached", ("memcached", "memcached"), "cache", 1.0, QUICK, "memcached with itself, capacity, quick length"),
    Subject("memcached-2", ("memcached", "memcached"), "cache", 1.0, TWO, "memcached with itself, closed loop of 2 connections, 8 short blocks"),
    Subject("memcached-p99", ("memcached", "memcached"), "cache", 1.0, AT_A_RATE, "memcached with itself, p99 at 40,000/s, 8 short blocks"),
    *(_slowed(percent, "short") for percent in (1, 2, 5, 10)),
    _slowed(5, "default"),
]

FORMER = [
    replace(
        _slowed(5, "default"),
        name="known-5%-ten-blocks",
        what="a server and the same with 5 % more work a request, closed loop, default length of before decision 0006 (10 blocks)",
    ),
]
"""Held no more: their rows are shown still."""
