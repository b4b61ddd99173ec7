"""Rows to Markdown: docs/results/turns.md."""

from __future__ import annotations

import math
from statistics import mean, stdev

from aa import comparison
from shared.ledger import Ledger
from shared.markdown import plural, table

from .subjects import ALONE, IN_TURNS, PAIRS

COLUMNS = ["round", "way", *comparison.COLUMNS]

Rows = list[dict[str, str]]

MOST_APART = 0.03
"""The bar: the two ways of a pair differ by less than this, in the mean over the rounds."""
STUDENT_T = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26)
"""Student's t for 95 %, both sides, with one degree of freedom and more. Later ones take the last: it is a little too wide."""


def write(ledger: Ledger) -> str:
    """The whole page."""
    rows = ledger.rows()
    dates = sorted({row["at"][:10] for row in rows})
    head = ["pair", "rounds", IN_TURNS, "took", ALONE, "took", f"{IN_TURNS} / {ALONE}", f"bar: within {MOST_APART:.0%}"]
    lines = [_line(pair.what, [row for row in rows if row["subject"] == pair.name]) for pair in PAIRS]
    return f"""# Do short slices and long loads give the same ratio?

{plural(len(rows), "comparison")} of different servers by `make bench-turns` ({", ".join(dates) or "none yet"}). The series continues with the same command.

- *{IN_TURNS.capitalize()}*: `showdown compare … --quick --measure throughput`, which loads both servers in alternating slices of some 50 ms (decision 0009).
- *{ALONE.capitalize()}*: the same plan without `[turns]`, so that each server is started, warmed up and loaded without the other, for a second or more.
- A round compares a pair in both ways, in random order. Ratios are geometric means over the rounds; ± is the interval of 95 % (Student's t).
- If a short slice measured only the beginning of a load, the two ways would differ here. Comparisons of equal servers cannot show that.
- Quick comparisons had six blocks on 2026-11-26, and have seven since (decision 0002).
- The rows are in `turns/`.

{table(head, [line for line in lines if line])}
"""


def _line(what: str, rows: Rows) -> list[str]:
    logs = {way: {row["round"]: math.log(float(row["ratio"])) for row in rows if row["way"] == way and row["ratio"]} for way in (IN_TURNS, ALONE)}
    rounds = sorted(logs[IN_TURNS].keys() & logs[ALONE].keys())
    if not rounds:
        return []
    apart = [logs[IN_TURNS][number] - logs[ALONE][number] for number in rounds]
    sides = []
    for way in (IN_TURNS, ALONE):
        seconds = mean(float(row["seconds"]) for row in rows if row["way"] == way)
        sides += [_ratio([logs[way][number] for number in rounds]), f"{seconds:.0f} s"]
    return [what, str(len(rounds)), *sides, _ratio(apart), _bar(apart)]


def _ratio(logs: list[float]) -> str:
    middle = math.exp(mean(logs))
    return f"{middle:.3f}" if len(logs) < 2 else f"{middle:.3f} ± {middle * _half_width(logs):.3f}"


def _bar(apart: list[float]) -> str:
    if len(apart) < 2:
        return "not decided yet (one round)"
    low, high = (mean(apart) + side * _half_width(apart) for side in (-1, 1))
    if -MOST_APART < low and high < MOST_APART:
        return "met"
    return "**not met**" if low > MOST_APART or high < -MOST_APART else "not decided yet"


def _half_width(logs: list[float]) -> float:
    quantile = STUDENT_T[min(len(logs) - 1, len(STUDENT_T)) - 1]
    return quantile * stdev(logs) / math.sqrt(len(logs))
