"""Rows to Markdown: docs/results/precision.md."""

from __future__ import annotations

import math
from statistics import median

from aa import comparison
from shared.ledger import Ledger
from aa.page import Rows, half_widths
from shared.markdown import plural, table

from .subjects import BARS, SUBJECTS

COLUMNS = comparison.COLUMNS
NOW, BEFORE = comparison.NOW, comparison.BEFORE
SINCE = "2026-11-26T02:08:00Z"
"""Since when the client of the present release spins (decision 0010). Rows from before are of another method."""


def write(ledger: Ledger) -> str:
    """The whole page."""
    rows = [row for row in ledger.rows() if row["at"] >= SINCE]
    dates = sorted({row["at"][:10] for row in rows})
    head = ["subject", "comparisons", "half-width before", "in", "half-width now", "in", "now / before at equal time", "bar"]
    lines = [_line(subject.name, subject.what, [row for row in rows if row["subject"] == subject.name]) for subject in SUBJECTS]
    return f"""# How narrow the intervals of a quick comparison are

{plural(len(rows), "comparison")} of servers with themselves by `make bench-precision` ({", ".join(dates) or "none yet"}). The series continues with the same command.

- *Before* is the release that loaded one server at a time (before decision 0009), *now* is this one. Both compare in the same hours, in
  random order, each with its own quick preset.
- A half-width is how far the interval of 95 % reaches to either side. The table has medians of those comparisons that have one.
- The releases take different times. *At equal time* scales the half-widths by the root of the time.
- The rows are in `precision/`. Those from before {SINCE[:10]} are not shown: the client slept (decision 0010).

{table(head, [line for line in lines if line])}
"""


def _line(name: str, what: str, rows: Rows) -> list[str]:
    of = {release: [row for row in rows if row["commit"] == release] for release in (BEFORE, NOW)}
    halves = {release: half_widths(own) for release, own in of.items()}
    if not all(halves.values()):
        return []
    half = {release: median(own) for release, own in halves.items()}
    seconds = {release: median(float(row["seconds"]) for row in own) for release, own in of.items()}
    ratio = half[NOW] / half[BEFORE] * math.sqrt(seconds[NOW] / seconds[BEFORE])
    bar = f"≤ {BARS[name]}: " + ("met" if ratio <= BARS[name] else "**not met**")
    counts = f"{len(halves[BEFORE])} of {len(of[BEFORE])}, {len(halves[NOW])} of {len(of[NOW])}"
    sides = [cell for release in (BEFORE, NOW) for cell in (f"±{half[release]:.1%}", f"{seconds[release]:.0f} s")]
    return [what, counts, *sides, f"{ratio:.2f}", bar]
