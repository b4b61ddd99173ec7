"""The comparisons of the series: a server with itself, or with a copy that does a known share of extra work."""

from __future__ import annotations

from dataclasses import dataclass

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


THROUGHPUT = ("--measure", "throughput")
QUICK = ("--quick",)
CLOSED = (*QUICK, *THROUGHPUT)
TWO = ("--connections", "2")
"""With more connections in a closed loop, a client with one CPU is the limit."""


def _equal(server: str, workload: str, connections: tuple[str, ...] = (), on: tuple[str, ...] = ()) -> list[Subject]:
    """A server compared with itself in a closed loop, and by its capacity, with the quick preset and the default one."""
    what = f"{server}, {on[-1]}" if on else server
    kinds = {"closed": ("closed loop", (*THROUGHPUT, *connections)), "capacity": ("capacity", ())}
    presets = {"": ("quick", QUICK), "-default": ("default preset", ())}
    return [
        Subject(f"{server}-{kind}{suffix}", (server, server), workload, 1.0, (*preset, *measure, *on), f"{what}, {measured}, {length}")
        for suffix, (length, preset) in presets.items()
        for kind, (measured, measure) in kinds.items()
    ]


def _slowed(percent: int, length: str) -> Subject:
    options = CLOSED if length == "quick" else THROUGHPUT
    return Subject(
        f"known-{percent}%-{length}",
        ("known", f"known:extra_work={10 * percent}"),
        KNOWN,
        1 + percent / 100,
        options,
        f"known server, {percent} % more work per request, closed loop, {length} preset",
    )


POINT_SELECT = ("--on-op", "point-select")

SUBJECTS = [
    *_equal("nginx", "static-web"),
    *_equal("apache", "static-web"),
    *_equal("memcached", "cache", TWO),
    *_equal("mariadb", "oltp", TWO, POINT_SELECT),
    *_equal("postgres", "oltp", TWO, POINT_SELECT),
    _slowed(5, "quick"),
    *(_slowed(percent, "default") for percent in (2, 1)),
]


def _former(name: str, truth: float, what: str) -> Subject:
    return Subject(name, ("", ""), "", truth, (), what)


FORMER = [
    _former("nginx", 1.0, "nginx, closed loop, 8 short blocks"),
    _former("memcached", 1.0, "memcached, capacity, quick preset"),
    _former("memcached-2", 1.0, "memcached, closed loop of 2 connections, 8 short blocks"),
    _former("memcached-p99", 1.0, "memcached, p99 at 40,000/s, 8 short blocks"),
    *(
        _former(f"known-{percent}%-short", 1 + percent / 100, f"known server, {percent} % more work per request, closed loop, 8 short blocks")
        for percent in (1, 2, 5, 10)
    ),
    _former("known-5%-default", 1.05, "known server, 5 % more work per request, closed loop, default preset"),
    _former("known-5%-ten-blocks", 1.05, "the same before decision 0006 (10 blocks)"),
]
"""Subjects of the time before servers were loaded in turns (decision 0009). The page still shows their rows."""
