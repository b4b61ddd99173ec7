"""Raw figures: how often each value was measured, with three significant digits. A row for each call would be megabytes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from shared.figures import Rows


def rounded(value: float) -> float:
    """With three significant digits."""
    return float(f"{value:.3g}")


def rows(store: str, runs: int, what: str, values: Iterable[float] | Counter[float]) -> Rows:
    """The rows of one kind of call."""
    counts = values if isinstance(values, Counter) else Counter(rounded(value) for value in values)
    return [{"store": store, "runs": runs, "what": what, "value": value, "count": counts[value]} for value in sorted(counts)]


def count(rows: Rows) -> int:
    """How many values there are."""
    return sum(int(row["count"]) for row in rows)


def percentile(rows: Rows, share: float) -> float:
    """The value that this share of all does not exceed."""
    place = max(1, math.ceil(share * count(rows)))
    for row in sorted(rows, key=lambda row: float(row["value"])):
        place -= int(row["count"])
        if place <= 0:
            return float(row["value"])
    raise ValueError("there are no values")
