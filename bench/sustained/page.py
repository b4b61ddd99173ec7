"""Rows to Markdown: docs/results/sustained.md."""

from __future__ import annotations

from statistics import median

from shared.ledger import Ledger
from shared.markdown import plural, table

from .cases import CASES, FASTER_AND_PAUSING, OBJECTIVE
from .real import REAL

HELD = ["at", "commit", "case", "capacity_per_s", "low", "high", "seconds", "late_share", "bound", "soak_s", "soak_late", "truth_low", "truth_high"]
WINNERS = ["at", "commit", "case", "seed", "sentence", "ratio", "low", "high", "seconds", "is_right"]
MOST_LATE = 0.015
"""The bar: at the capacity that was found, no more than this share of a continuous load is late."""
NEAR = 0.95
"""The other bar: the capacity is no less than this share of the truth, and no more than its inverse."""


def write(held: Ledger, winners: Ledger) -> str:
    """The whole page."""
    rows, compared = held.rows(), winners.rows()
    dates = sorted({row["at"][:10] for row in rows + compared})
    return f"""# Is a capacity held?

{plural(len(rows), "search", "searches")} and {plural(len(compared), "comparison")} by `make bench-sustained` ({", ".join(dates) or "none yet"}). The series continues with the same command.

- *Held*: `showdown load --find-capacity '{OBJECTIVE}' -d 20s` on a known server or a real one (one CPU, 64 connections), then `showdown load` at that rate for 60 s without a break (30 s until 2026-12-01T12:00). *Late* is the share
  of all of its operations that took 5 ms or longer; the objective allows 1 %, and the bar is {MOST_LATE:.1%}.
- *Truth*: the highest rate whose continuous load of 60 s meets the objective, by a few loads around the capacity that was found.
  *Near the truth*: the capacity is within 5 % of it. Rows from before it was looked for have none.
- *Winner*: quick comparisons of a server that pauses with a steady one that needs 15 % more CPU time a request. The steady one carries more.
- A search that found no capacity has no figure and counts as not held.
- The series began anew with lasting loops and soaks (decision [0062](../decisions/0062-lasting-loops-and-soaks.md)).
- A steady server has its knee at nine tenths of its closed loop: what the machine does in the half minute between search and load decides whether it is sustained.
- The rows are in `sustained/`.

{table(["server", "searches", "capacity, median", "late, median", f"at most {MOST_LATE:.1%}", "truth, median", "near the truth"], [line for line in (_held(case.name, rows) for case in [*CASES, *REAL]) if line])}

{table(["faster server that pauses", "comparisons", "ratio, median", "right winner"], [line for line in (_winner(case.name, compared) for case in FASTER_AND_PAUSING) if line])}
"""


def _held(name: str, rows: list[dict[str, str]]) -> list[str]:
    own = [row for row in rows if row["case"] == name]
    found = [row for row in own if row["late_share"]]
    if not own:
        return []
    shares = [float(row["late_share"]) for row in found]
    capacity = f"{median(float(row['capacity_per_s']) for row in found):,.0f}/s" if found else "–"
    late = f"{median(shares):.2%}" if shares else "–"
    known = [row for row in found if row.get("truth_low")]
    truth = f"{median(float(row['truth_low']) for row in known):,.0f}/s" if known else "–"
    near = sum(_is_near(float(row["capacity_per_s"]), float(row["truth_low"]), float(row["truth_high"])) for row in known)
    met = f"{sum(share <= MOST_LATE for share in shares)} of {len(own)}"
    return [name, str(len(own)), capacity, late, met, truth, f"{near} of {len(known)}" if known else "–"]


def _is_near(capacity: float, low: float, high: float) -> bool:
    """Whether a capacity is within 5 % of the truth, which is between these."""
    return capacity >= NEAR * low and capacity <= high / NEAR


def _winner(name: str, rows: list[dict[str, str]]) -> list[str]:
    own = [row for row in rows if row["case"] == name]
    if not own:
        return []
    ratios = [float(row["ratio"]) for row in own if row["ratio"]]
    return [name, str(len(own)), f"{median(ratios):.2f}" if ratios else "–", f"{sum(row['is_right'] == 'yes' for row in own)} of {len(own)}"]
