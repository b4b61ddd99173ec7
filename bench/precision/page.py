"""Rows to Markdown: docs/results/precision.md."""

from __future__ import annotations

import math
from statistics import median

from aa import comparison
from aa.subjects import Subject
from shared.ledger import Ledger
from aa.page import Rows, half_widths
from shared.markdown import plural, table

from .subjects import BARS, SUBJECTS

COLUMNS = comparison.COLUMNS
NOW, BEFORE = comparison.NOW, comparison.BEFORE
CPU_TIME = "µs"
"""The unit of CPU time an operation."""
SINCE = "2026-11-26T02:08:00Z"
"""Since when the client of the present release spins (decision 0010). Rows from before are of another method."""


def write(ledger: Ledger) -> str:
    """The whole page."""
    rows = [row for row in ledger.rows() if row["at"] >= SINCE]
    dates = sorted({row["at"][:10] for row in rows})
    head = ["subject", "comparisons", "half-width before", "took", "half-width now", "took", "now / before at equal time", "bar"]
    lines = [line for subject in SUBJECTS for line in _lines(subject, [row for row in rows if row["subject"] == subject.name])]
    return f"""# How narrow the intervals of a quick comparison are

{plural(len(rows), "comparison")} of servers with themselves by `make bench-precision` ({", ".join(dates) or "none yet"}). The series continues with the same command.

- *Before* is the release that loaded one server at a time (before decision 0009), *now* is this one. Both compare in the same hours, in
  random order, each with its own quick preset.
- A half-width is how far the interval of 95 % reaches to either side. The table has medians of those comparisons that have one; *comparisons*
  says of how many, before and now.
- The releases take different times. *At equal time* scales the half-widths by the square root of the time.
- Until 2026-11-27T18:00 no measure was named, and this release chose CPU time an operation where the client would be the limit (decision 0011). Such
  comparisons have a line of their own without a bar: it compares two measures.
- Until {comparison.SUSTAINED_SINCE[:16]} a capacity was another quantity, with narrower intervals (decision 0033). Those comparisons have a line of their
  own without a bar.
- The rows are in `precision/`. Those from before {SINCE[:10]} are not shown: the client slept (decision 0010).

{table(head, lines)}
"""


def _lines(subject: Subject, rows: Rows) -> list[list[str]]:
    """The line of the comparisons in which both releases measured the same, and that of the others."""
    before = [row for row in rows if row["commit"] == BEFORE]
    by_cpu = [row for row in rows if row["commit"] == NOW and row["unit"] == CPU_TIME]
    former = [row for row in rows if row["commit"] == NOW and comparison.is_former_capacity(row)]
    same = [row for row in rows if row not in by_cpu + former]
    lines = [
        _line(subject.what, BARS[subject.name], same),
        _line(f"{subject.what}; by the former definition", None, before + former),
        _line(f"{subject.what}; now CPU time an operation", None, before + by_cpu),
    ]
    return [line for line in lines if line]


def _line(what: str, most: float | None, rows: Rows) -> list[str]:
    of = {release: [row for row in rows if row["commit"] == release] for release in (BEFORE, NOW)}
    halves = {release: half_widths(own) for release, own in of.items()}
    if not all(halves.values()):
        return []
    half = {release: median(own) for release, own in halves.items()}
    seconds = {release: median(float(row["seconds"]) for row in own) for release, own in of.items()}
    ratio = half[NOW] / half[BEFORE] * math.sqrt(seconds[NOW] / seconds[BEFORE])
    bar = "–" if most is None else f"≤ {most}: " + ("met" if ratio <= most else "**not met**")
    counts = f"{len(halves[BEFORE])} of {len(of[BEFORE])}, {len(halves[NOW])} of {len(of[NOW])}"
    sides = [cell for release in (BEFORE, NOW) for cell in (f"±{half[release]:.1%}", f"{seconds[release]:.0f} s")]
    return [what, counts, *sides, f"{ratio:.2f}", bar]
