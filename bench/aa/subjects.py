"""The comparisons of the series: a server with itself, or with a copy that does a known share of extra work."""

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
    """The true ratio: throughput of the first variant divided by that of the second."""
    options: tuple[str, ...]
    """Options of `showdown compare`."""
    what: str
    """The description on the page."""

    @property
    def is_null(self) -> bool:
        """Whether the variants are equal, so that every difference is a false verdict."""
        return self.truth == 1.0


QUICK = ("--quick",)
SHORT = (*QUICK, "--measure", "throughput", "--blocks", "8")
"""Eight blocks of the quick preset in a closed loop: about 22 s."""

TWO = (*SHORT, "--connections", "2")
"""The same with two connections. With more, a client with one CPU is the limit."""

AT_A_RATE = (*QUICK, "--measure", "latency", "--rates", "40000", "--blocks", "8")
"""For a server that is faster than a client with one CPU. Its highest throughput would measure the client."""


def _slowed(percent: int, length: str) -> Subject:
    options = SHORT if length == "short" else ("--measure", "throughput")
    return Subject(
        f"known-{percent}%-{length}",
        ("known", f"known:extra_work={10 * percent}"),
        KNOWN,
        1 + percent / 100,
        options,
        f"known server, {percent} % more work per request, closed loop, {'8 short blocks' if length == 'short' else 'default preset'}",
    )


SUBJECTS = [
    Subject("nginx", ("nginx", "nginx"), "static-web", 1.0, SHORT, "nginx, closed loop, 8 short blocks"),
    Subject("memcached", ("memcached", "memcached"), "cache", 1.0, QUICK, "memcached, capacity, quick preset"),
    Subject("memcached-2", ("memcached", "memcached"), "cache", 1.0, TWO, "memcached, closed loop of 2 connections, 8 short blocks"),
    Subject("memcached-p99", ("memcached", "memcached"), "cache", 1.0, AT_A_RATE, "memcached, p99 at 40,000/s, 8 short blocks"),
    *(_slowed(percent, "short") for percent in (1, 2, 5, 10)),
    _slowed(5, "default"),
]

FORMER = [
    replace(
        _slowed(5, "default"),
        name="known-5%-ten-blocks",
        what="known server, 5 % more work per request, closed loop, default preset before decision 0006 (10 blocks)",
    ),
]
"""Subjects that are no longer compared. The page still shows their rows."""
