"""The page of the bench of the harness: bars, then percentiles of each call by store, and what has become of killed parts."""

from __future__ import annotations

from dataclasses import dataclass

from shared.figures import Bar, Figure, Rows
from shared.markdown import bars_table, facts_table, table, verdict
from shared.results import Settings

from .samples import count, percentile

COLUMNS = ["store", "runs", "what", "value", "count"]
STORES = ["SQLite", "PostgreSQL"]
NOTHING = ["entries that vanished", "runs lost: done, and not in the archive", "runs doubled: begun twice", "hosts with two holders"]
"""What must not happen, however often parts are killed."""


@dataclass(frozen=True)
class Limit:
    """A bar of the design, for a percentile of some kind of call."""

    what: str
    name: str
    limit: float
    share: float = 0.99


OF_STORES = [
    Limit("line arrives", "line of a run until a watcher has it, p99, ms", 200),
    Limit("claim", "claim of one entry of all that wait, p99, ms", 20),
    Limit("kill until SIGINT", "kill until the run has SIGINT, p99, ms", 1_000),
    Limit("server is back", "server answers again after SIGKILL, the longest, ms", 3_000, 1.0),
    Limit("lost controller is named, s", "lost controller is named, s", 65, 1.0),
    Limit("CPUs of a controller", "CPU of a controller with its stream, the median of all, share of one", 0.01, 0.5),
    Limit("memory of the server, MB", "memory of the server, MB", 200, 1.0),
]
OF_ARCHIVE = [
    Limit("list: ", "the slowest list, p99, ms", 50),
    Limit("search: ", "the slowest search of a text, p99, ms", 150),
    Limit("compare 50 runs", "compare 50 runs, p99, ms", 300),
    Limit("history of a series", "history of a series, p99, ms", 100),
    Limit("first list: the index is made, s", "index made from all directories, s", 600, 1.0),
    Limit("memory of the server, MB", "memory of the server of the archive, MB", 200, 1.0),
]


def _by_what(rows: Rows) -> dict[str, Rows]:
    groups: dict[str, Rows] = {}
    for row in rows:
        groups.setdefault(str(row["what"]), []).append(row)
    return groups


def _bar(limit: Limit, name: str, groups: dict[str, Rows]) -> Bar:
    """The slowest of all calls whose names begin like this."""
    found = [percentile(rows, limit.share) for what, rows in groups.items() if what.startswith(limit.what)]
    decimals = 3 if 0 < limit.limit < 1 else 1 if 0 < limit.limit < 100 else 0
    return Bar(name, limit.limit, False, Figure.of([max(found)]) if found else None, decimals)


def _bars(rows: Rows, settings: Settings) -> list[Bar]:
    archive = _by_what([row for row in rows if int(row["runs"]) > 0])
    bars = [_bar(limit, f"{limit.name}, {settings['runs']:,} runs", archive) for limit in OF_ARCHIVE]
    for store in STORES:
        groups = _by_what([row for row in rows if row["store"] == store])
        bars += [_bar(limit, f"{limit.name}, {store}", groups) for limit in OF_STORES]
        bars += [_bar(Limit(what, what, 0, 1.0), f"{what}, {_killed(rows, store):,} kills, {store}", groups) for what in NOTHING]
    return bars


def _killed(rows: Rows, store: str) -> int:
    return round(sum(float(row["value"]) for row in rows if row["store"] == store and str(row["what"]).startswith("killed: ")))


def _is_count(what: str) -> bool:
    return what in NOTHING or what == "entries" or what.startswith(("killed: ", "ended: "))


def _percentiles(rows: Rows) -> str:
    """A line for each kind of call and each store."""
    lines = []
    for what, of_what in _by_what(rows).items():
        if _is_count(what):
            continue
        for store in dict.fromkeys(str(row["store"]) for row in of_what):
            of_store = [row for row in of_what if row["store"] == store]
            shown = [f"{percentile(of_store, share):,.4g}" for share in (0.5, 0.9, 0.99, 1.0)]
            lines.append([what, store, f"{count(of_store):,}", *shown])
    return table(["", "store", "count", "median", "p90", "p99", "most"], lines)


def _counts(rows: Rows) -> str:
    groups = {what: of_what for what, of_what in _by_what(rows).items() if _is_count(what)}
    lines = []
    for what in sorted(groups, key=lambda what: (what.startswith("ended"), what.startswith("killed"), what)):
        values = {str(row["store"]): float(row["value"]) for row in groups[what]}
        lines.append([what, *(f"{values.get(store, 0):,.0f}" for store in STORES)])
    return table(["", *STORES], lines, numbers=True)


def _command(settings: Settings) -> str:
    """The command that measures this."""
    words = [f"--{name} {settings[name]}" for name in ("entries", "controllers", "watchers", "lines", "seconds", "kills", "runs", "calls", "seed")]
    return f"make bench-harness HARNESS_OPTIONS='{' '.join(words)}'"


def page(rows: Rows, settings: Settings) -> str:
    """The whole page."""
    bars = _bars(rows, settings)
    archive = [row for row in rows if int(row["runs"]) > 0]
    stores = [row for row in rows if int(row["runs"]) == 0]
    return f"""# The harness with many runs, controllers and watchers

{verdict(bars)}

Measured on {settings["date"]} by the command below. On the machine meanwhile: {settings["beside"]}.

Server, database, controllers, runs and watchers shared its {settings["CPUs"].split(",")[0]} CPUs. The raw figures are in `harness/`: how often each value was measured.

```sh
{_command(settings)}
```

{bars_table(bars)}

## Controllers and watchers

{settings["entries"]:,} entries are submitted. {settings["controllers"]} controllers are real processes, each on a host of its own name. Their runs are stand-ins: they measure nothing, and
write {settings["lines"]:g} lines a second, as `showdown` does. {settings["watchers"]} watchers read the streams of events. *Line arrives* is the time from the moment at which the run writes a
line until a watcher has read it, so it has the controller, the server and the database in it. Times are in milliseconds where the name has no unit.

{_percentiles(stores)}

## Parts that are killed

Controllers, runs, the server and PostgreSQL are killed at random moments (SIGKILL; PostgreSQL: SIGQUIT, so that it recovers from its log), and started
again at once. Then every entry is looked for: in the queue, in the file in which stand-ins say that they begin, and in the archive. A run takes a lock of its
host: one that finds it taken is a second holder. Entries that are `lost` are named so, and are not repeated.

{_counts(stores)}

With no event in {min(_killed(rows, store) for store in STORES) or "no"} kills, the 95 % bound of its rate is {_bound(rows)}.

## Lists of the archive

An archive of {settings["runs"]:,} runs, of which the newest 20 have one more tag. Each call is one request of the API on an open connection, in milliseconds. The index is
SQLite with both stores.

{_percentiles(archive)}

## Not measured here

| figure of the design | state |
| --- | --- |
| 40 A/A comparisons, watched and unwatched | not measured: they take hours. What is measured is the CPU time of a controller with its stream |
| history of 10,000 points | a page of a history has 200 runs: that page is measured |
| drawing in the browser | not measured |

## The machine

{facts_table(settings, without=("entries", "controllers", "watchers", "lines", "seconds", "kills", "runs", "calls", "seed", "beside"))}
"""


def _bound(rows: Rows) -> str:
    """The rule of three."""
    kills = min(_killed(rows, store) for store in STORES)
    return f"{3 / kills:.1%}" if kills else "unknown"
