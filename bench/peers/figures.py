"""Medians, spreads and ratios from the rows of a run: arithmetic only, no text."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from .clients import ENGINE, FLOOR, HTTP, MEMCACHED, TLS
from .store import Store

Entry = tuple[str, str]
"""Protocol and client."""

WRK, FLOOR_OF_MEMCACHED, H2LOAD_TLS = (HTTP, "wrk"), (MEMCACHED, FLOOR), (TLS, "h2load")

# What they cost in cycles a request where the bars were set, by hardware counters. For user cycles wrk is the
# yardstick of memcached too: the floor has too few of them to measure by.
REFERENCE_USER = (WRK, 2_600)
REFERENCE_ALL = {HTTP: (WRK, 34_900), MEMCACHED: (FLOOR_OF_MEMCACHED, 7_150)}


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

    def ratio(self, ours: Entry, theirs: Entry, column: str) -> Figure | None:
        """Of two clients, round by round: what both met in a round cancels out."""
        numerators, denominators = (self.by_round("cycles", *entry, column) for entry in (ours, theirs))
        return Figure.of([numerators[n] / denominators[n] for n in numerators if denominators.get(n)])

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

    def at_reference(self, entry: Entry) -> tuple[float, float] | None:
        """User cycles and all cycles where the bars were set, if the ratio to the yardsticks is the same there."""
        user = self.ratio(entry, REFERENCE_USER[0], "user_cycles")
        everything = self.ratio(entry, REFERENCE_ALL[entry[0]][0], "all_cycles")
        if user is None or everything is None:
            return None
        return user.middle * REFERENCE_USER[1], everything.middle * REFERENCE_ALL[entry[0]][1]

    def bars(self) -> list[Bar]:
        """What the engine promises."""
        user, everything = "user_cycles", "all_cycles"
        return [
            Bar("HTTP, user cycles a request", 1300, False, self.figure("cycles", HTTP, ENGINE, user)),
            Bar("HTTP, all client cycles a request, × wrk", 0.85, False,
                self.ratio((HTTP, ENGINE), WRK, everything), 3),
            Bar("memcached, user cycles a request", 900, False, self.figure("cycles", MEMCACHED, ENGINE, user)),
            Bar("memcached, all client cycles a request", 8200, False,
                self.figure("cycles", MEMCACHED, ENGINE, everything)),
            Bar("memcached, all client cycles a request, × floor", 1.15, False,
                self.ratio((MEMCACHED, ENGINE), FLOOR_OF_MEMCACHED, everything), 3),
            Bar("HTTP, system calls a request (strace -c)", 2.1, False,
                self.figure("syscalls", HTTP, ENGINE, "strace_syscalls"), 3),
            Bar("memcached, system calls a request (strace -c)", 2.1, False,
                self.figure("syscalls", MEMCACHED, ENGINE, "strace_syscalls"), 3),
            Bar("open loop at 50,000/s, lag p99, µs", 50, False, self.figure("lag", HTTP, ENGINE, "lag_p99_us")),
            Bar("memory a connection, bytes", 4096, False, self.memory_per_connection(ENGINE, over_one=False)),
            Bar("TLS, throughput, × h2load", 0.8, True,
                self.ratio((TLS, ENGINE), H2LOAD_TLS, "requests_per_s"), 3),
        ]  # fmt: skip
