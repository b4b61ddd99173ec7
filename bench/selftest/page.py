"""Rows to Markdown: docs/results/selftest.md."""

from __future__ import annotations

from collections import Counter
from statistics import median

from shared import series
from shared.ledger import Ledger
from shared.markdown import plural, table

COLUMNS = ["at", "commit", "fitness", "seconds", "floor_us", "server_part_us", "steal", "reasons"]
"""`floor_us`: the median response time of a server that answers at once; `server_part_us`: its part by its own clock."""

RUNS, MOST_SECONDS, MOST_FLOOR_US = 10, 60, 20
"""The bars: so many tests in a row end in one of FIT within the time, and the client adds this at most."""
FIT = ("fit", "fit_with_limits")

Rows = list[dict[str, str]]


def row(answer: dict, commit: str, seconds: float) -> dict[str, object]:
    """The row of one test, of what `showdown selftest --format json` prints."""
    floor = answer["floor"] or {}
    return {
        "at": series.now(),
        "commit": commit,
        "fitness": answer["fitness"],
        "seconds": seconds,
        "floor_us": floor.get("min_latency_us", ""),
        "server_part_us": floor.get("server_part_us", ""),
        "steal": "" if answer["steal"] is None else round(answer["steal"], 4),
        "reasons": "; ".join(answer["reasons"]),
    }


def write(ledger: Ledger) -> str:
    """The whole page."""
    rows = ledger.rows()
    head = ["test", "result", "duration", "floor", "server's part", "client adds", "stolen", "limits"]
    lines = [_line(test) for test in rows]
    counts = Counter(_result(test) for test in rows)
    results = ", ".join(f"{number} {fitness}" for fitness, number in sorted(counts.items())) or "none yet"
    return f"""# Does an idle machine pass the selftest?

{plural(len(rows), "selftest")} by `make bench-selftest`, one after the other: {results}. The series continues with the same command.

- The *floor* is the median response time of a known server that answers at once. The server's part is by its own clock.
- *Client adds* is the floor less the server's part. It includes the way of request and reply through the kernel.
- *Stolen* is the time that the hypervisor took from the machine. *Limits* are what the selftest said of this host.
- The first eight tests (until 2026-11-27T11:40) are of an earlier selftest. Its check of saturation overloaded the known server too, so it could
  not tell which of the two was the limit. All four UNFIT are of it.
- The rows are in `selftest/`.

{table(["bar", "", "measured"], _bars(rows))}

{table(head, lines)}
"""


def _bars(rows: Rows) -> list[list[str]]:
    added = [_added(test) for test in rows if test["floor_us"]]
    last = rows[-RUNS:]
    passed = sum(test["fitness"] in FIT and float(test["seconds"]) <= MOST_SECONDS for test in last)
    in_a_row = "met" if passed == RUNS else "not reached yet" if passed == len(last) else "**not met**"
    return [
        [f"FIT or FIT WITH LIMITS in {MOST_SECONDS} s, {RUNS} times in a row", in_a_row, f"{passed} of the last {len(last)}"],
        [f"the client adds {MOST_FLOOR_US} µs at most, in the median", *_floor(added)],
    ]


def _floor(added: list[float]) -> list[str]:
    if not added:
        return ["not measured yet", ""]
    middle = median(added)
    return ["met" if middle <= MOST_FLOOR_US else "**not met**", f"{middle:.1f} µs (median), {max(added):.1f} µs (most)"]


def _result(test: dict[str, str]) -> str:
    """The fitness as `showdown selftest` prints it."""
    return test["fitness"].upper().replace("_", " ")


def _added(test: dict[str, str]) -> float:
    return float(test["floor_us"]) - float(test["server_part_us"])


def _line(test: dict[str, str]) -> list[str]:
    floor = [f"{test['floor_us']} µs", f"{float(test['server_part_us']):.1f} µs", f"{_added(test):.1f} µs"] if test["floor_us"] else ["–"] * 3
    stolen = f"{float(test['steal']):.2%}" if test["steal"] else "–"
    return [test["at"], _result(test), f"{float(test['seconds']):.0f} s", *floor, stolen, test["reasons"] or "–"]
