"""The figures, ratios and bars of this bench, from its rows."""

from __future__ import annotations

from shared import figures
from shared.figures import Bar, Figure
from shared.showdown import ENGINE
from shared.store import Store

from .clients import FLOOR, HTTP, MEMCACHED, TLS

Entry = tuple[str, str]
"""Protocol and client."""

WRK, FLOOR_OF_MEMCACHED, H2LOAD_TLS = (HTTP, "wrk"), (MEMCACHED, FLOOR), (TLS, "h2load")

# Cycles per request on the reference machine, where the bars were set, by hardware counters. wrk is the yardstick for user
# cycles with memcached too: the floor has too few of them.
REFERENCE_USER = (WRK, 2_600)
REFERENCE_ALL = {HTTP: (WRK, 34_900), MEMCACHED: (FLOOR_OF_MEMCACHED, 7_150)}


class Figures:
    """The figures of one bench, by protocol and client."""

    def __init__(self, store: Store):
        self._store = store

    def by_round(self, table: str, protocol: str, client: str, column: str) -> dict[str, float]:
        """One value per round. Beside the columns of the table: `cpu_us`, the client's CPU time of a request, and with `work_`
        before them `cpu_us` and `all_cycles` without spinning."""

        def of(name: str) -> dict[str, float]:
            return figures.by_round(self._store.rows(table), name, protocol=protocol, client=client)

        if column.startswith("work_"):
            spinning = of("spin_share")
            whole = self.by_round(table, protocol, client, column.removeprefix("work_"))
            return {number: value * (1 - spinning.get(number, 0)) for number, value in whole.items()}
        if column == "cpu_us":
            speed, cpu = of("achieved_per_s" if table == "paced" else "requests_per_s"), of("client_cpu")
            return {number: 1e6 * cpu[number] / speed[number] for number in cpu if speed.get(number)}
        return of(column)

    def figure(self, table: str, protocol: str, client: str, column: str) -> Figure | None:
        """The median and the range over all rounds."""
        return Figure.of(list(self.by_round(table, protocol, client, column).values()))

    def ratio(self, numerator: Entry, denominator: Entry, column: str, table: str = "cycles") -> Figure | None:
        """The ratio of two clients, computed within each round."""
        return figures.ratio(*(self.by_round(table, *entry, column) for entry in (numerator, denominator)))

    def clock_hz(self) -> Figure | None:
        """Cycles in a second of CPU time, over all runs."""
        return Figure.of([float(row["clock_hz"]) for row in self._store.rows("cycles")])

    def memory_per_connection(self, client: str, over_one: bool) -> Figure | None:
        """Resident bytes per connection, of all; with `over_one`, beyond what the client needs for one connection."""
        rows = [row for row in self._store.rows("memory") if row["client"] == client]
        sizes = {int(row["connections"]): int(row["resident_bytes"]) for row in rows}
        if len(sizes) < 2:
            return None
        many = max(sizes)
        return Figure.of([(sizes[many] - (sizes[1] if over_one else 0)) / many])

    def at_reference(self, entry: Entry) -> tuple[float, float] | None:
        """User cycles and all cycles on the reference machine, if the ratios to the yardsticks are the same there."""
        user = self.ratio(entry, REFERENCE_USER[0], "user_cycles")
        everything = self.ratio(entry, REFERENCE_ALL[entry[0]][0], "work_all_cycles")
        if user is None or everything is None:
            return None
        return user.middle * REFERENCE_USER[1], everything.middle * REFERENCE_ALL[entry[0]][1]

    def bars(self) -> list[Bar]:
        """The limits of the engine's cost, precision and memory."""
        user, everything = "user_cycles", "work_all_cycles"
        return [
            Bar("HTTP, user cycles per request", 1300, False, self.figure("cycles", HTTP, ENGINE, user)),
            Bar("HTTP, all client cycles per request, × wrk", 0.85, False,
                self.ratio((HTTP, ENGINE), WRK, everything), 3),
            Bar("memcached, user cycles per request", 900, False, self.figure("cycles", MEMCACHED, ENGINE, user)),
            Bar("memcached, all client cycles per request", 8200, False,
                self.figure("cycles", MEMCACHED, ENGINE, everything)),
            Bar("memcached, all client cycles per request, × floor", 1.15, False,
                self.ratio((MEMCACHED, ENGINE), FLOOR_OF_MEMCACHED, everything), 3),
            Bar("HTTP, system calls per request (strace -c)", 2.1, False,
                self.figure("syscalls", HTTP, ENGINE, "strace_syscalls"), 3),
            Bar("memcached, system calls per request (strace -c)", 2.1, False,
                self.figure("syscalls", MEMCACHED, ENGINE, "strace_syscalls"), 3),
            Bar("open loop at 50,000/s, lag p99, µs", 50, False, self.figure("lag", HTTP, ENGINE, "lag_p99_us")),
            Bar("memory per connection, bytes", 4096, False, self.memory_per_connection(ENGINE, over_one=False)),
            Bar("TLS, throughput, × h2load", 0.8, True,
                self.ratio((TLS, ENGINE), H2LOAD_TLS, "requests_per_s"), 3),
        ]  # fmt: skip
