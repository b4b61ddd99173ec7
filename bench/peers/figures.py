"""Medians, spreads and ratios from the rows of a run: arithmetic only, no text."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from .clients import ENGINE, FLOOR, HTTP, MEMCACHED, TLS
from .store import Store

# What the same peers cost on the machine of the reference figures, in cycles a request.
REFERENCE_WRK = {"user_cycles": 2_600, "all_cycles": 34_900}
REFERENCE_FLOOR_MEMCACHED = {"user_cycles": 300, "all_cycles": 7_150}


@dataclass(frozen=True)
class Figure:
    """A median with its range."""

    middle: float
    least: float
    most: float

    @classmethod
    def of(cls, values: list[float]) -> Figure | None:
        """None of nothing."""
        return cls(median(values), min(values), max(values)) if values else None

    def scaled(self, factor: float) -> Figure:
        """In another unit."""
        return Figure(self.middle * factor, self.least * factor, self.most * factor)


@dataclass(frozen=True)
class Bar:
    """A promise, and what came of it."""

    what: str
    limit: float
    at_least: bool
    """Otherwise: at most."""
    figure: Figure | None
    decimals: int = 0

    @property
    def is_met(self) -> bool:
        """By the median."""
        if self.figure is None:
            return False
        return self.figure.middle >= self.limit if self.at_least else self.figure.middle <= self.limit


class Figures:
    """The rows of one run, asked by protocol and client."""

    def __init__(self, store: Store):
        self._store = store

    def by_round(self, table: str, protocol: str, client: str, column: str) -> dict[str, float]:
        """One value a round."""
        return {
            row["round"]: float(row[column])
            for row in self._store.rows(table)
            if (row["protocol"], row["client"]) == (protocol, client) and row[column]
        }

    def figure(self, table: str, protocol: str, client: str, column: str) -> Figure | None:
        """Over all rounds."""
        return Figure.of(list(self.by_round(table, protocol, client, column).values()))

    def ratio(self, table: str, protocol: str, client: str, other: str, column: str) -> Figure | None:
        """Of two clients, round by round: what both met in a round cancels out."""
        ours, theirs = (self.by_round(table, protocol, name, column) for name in (client, other))
        return Figure.of([ours[number] / theirs[number] for number in ours if theirs.get(number)])

    def clock_hz(self) -> Figure | None:
        """Cycles in a second of CPU time, over all runs."""
        return Figure.of([float(row["clock_hz"]) for row in self._store.rows("cycles")])

    def memory_per_connection(self, client: str, over_one: bool) -> Figure | None:
        """Resident bytes a connection with many; over what the client needs with one, if so asked."""
        rows = [row for row in self._store.rows("memory") if row["client"] == client]
        sizes = {int(row["connections"]): int(row["resident_bytes"]) for row in rows}
        if len(sizes) < 2:
            return None
        many = max(sizes)
        return Figure.of([(sizes[many] - (sizes[1] if over_one else 0)) / many])

    def bars(self) -> list[Bar]:
        """What the engine promises."""
        user, everything = "user_cycles", "all_cycles"
        return [
            Bar("HTTP, user cycles a request", 1300, False, self.figure("cycles", HTTP, ENGINE, user)),
            Bar("HTTP, all client cycles a request, × wrk", 0.85, False,
                self.ratio("cycles", HTTP, ENGINE, "wrk", everything), 3),
            Bar("memcached, user cycles a request", 900, False, self.figure("cycles", MEMCACHED, ENGINE, user)),
            Bar("memcached, all client cycles a request", 8200, False,
                self.figure("cycles", MEMCACHED, ENGINE, everything)),
            Bar("memcached, all client cycles a request, × floor", 1.15, False,
                self.ratio("cycles", MEMCACHED, ENGINE, FLOOR, everything), 3),
            Bar("HTTP, system calls a request (strace -c)", 2.1, False,
                self.figure("syscalls", HTTP, ENGINE, "strace_syscalls"), 3),
            Bar("memcached, system calls a request (strace -c)", 2.1, False,
                self.figure("syscalls", MEMCACHED, ENGINE, "strace_syscalls"), 3),
            Bar("open loop at 50,000/s, lag p99, µs", 50, False, self.figure("lag", HTTP, ENGINE, "lag_p99_us")),
            Bar("memory a connection, bytes", 4096, False, self.memory_per_connection(ENGINE, over_one=False)),
            Bar("TLS, throughput, × h2load", 0.8, True,
                self.ratio("cycles", TLS, ENGINE, "h2load", "requests_per_s"), 3),
        ]  # fmt: skip
