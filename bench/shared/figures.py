"""Medians, ranges, ratios and bars: arithmetic only, no text."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

Rows = list[dict[str, object]]
"""Rows of a table of raw figures, by column."""


@dataclass(frozen=True)
class Figure:
    """A median with its range."""

    middle: float
    least: float
    most: float

    @classmethod
    def of(cls, values: list[float]) -> Figure | None:
        """None without values."""
        return cls(median(values), min(values), max(values)) if values else None

    def scaled(self, factor: float) -> Figure:
        """The figure in another unit."""
        return Figure(self.middle * factor, self.least * factor, self.most * factor)


@dataclass(frozen=True)
class Bar:
    """A limit that the engine must keep, and the measured figure."""

    what: str
    limit: float
    at_least: bool
    """Whether the limit is a lower one; otherwise it is an upper one."""
    figure: Figure | None
    decimals: int = 0

    @property
    def is_met(self) -> bool:
        """Whether the median keeps the limit."""
        if self.figure is None:
            return False
        return self.figure.middle >= self.limit if self.at_least else self.figure.middle <= self.limit


def by_round(rows: Rows, column: str, **chosen: object) -> dict[str, float]:
    """One value per round, of the rows whose columns have the chosen values."""
    matching = (row for row in rows if all(row[name] == value for name, value in chosen.items()))
    return {str(row["round"]): float(row[column]) for row in matching if row.get(column) not in ("", None)}


def figure(rows: Rows, column: str, **chosen: object) -> Figure | None:
    """The same over all rounds."""
    return Figure.of(list(by_round(rows, column, **chosen).values()))


def ratio(numerators: dict[str, float], denominators: dict[str, float]) -> Figure | None:
    """Computed within each round, so that disturbances of a round cancel out."""
    return Figure.of([numerators[n] / denominators[n] for n in numerators if denominators.get(n)])
