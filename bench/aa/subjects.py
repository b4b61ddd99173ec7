"""What is compared: a server with itself, or with a copy that does a known share of extra work."""

from __future__ import annotations

from dataclasses import dataclass

KNOWN = "known-server"
"""The workload beside this file, whose server is showdown's own known server."""


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


def _slowed(percent: int, length: str) -> Subject:
    options = QUICK if length == "quick" else ()
    return Subject(
        f"known-{percent}%-{length}",
        ("known", f"known:extra_work={percent}%"),
        KNOWN,
        1 + percent / 100,
        (*options, "--measure", "throughput"),
        f"a server and the same with {percent} % more work a request, closed loop, {length} length",
    )


SUBJECTS = [
    Subject("nginx", ("nginx", "nginx"), "static-web", 1.0, QUICK, "nginx with itself, capacity, quick length"),
    Subject("memcached", ("memcached", "memcached"), "cache", 1.0, QUICK, "memcached with itself, capacity, quick length"),
    *(_slowed(percent, "quick") for percent in (1, 2, 5, 10)),
    _slowed(5, "default"),
]
