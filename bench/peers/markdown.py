"""Figures and tables as Markdown has them, for all pages of results."""

from __future__ import annotations

import shlex
from pathlib import Path

from .figures import Bar, Figure


def show_figure(figure: Figure | None, decimals: int = 0) -> str:
    """Its median, with the least and the most where they differ."""
    if figure is None:
        return "–"
    middle, least, most = (f"{value:,.{decimals}f}" for value in (figure.middle, figure.least, figure.most))
    return middle if least == most else f"{middle} ({least}–{most})"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table with a head."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def verdict(bars: list[Bar]) -> str:
    """How many promises were kept, and which were not."""
    missed = [bar.what for bar in bars if not bar.is_met]
    kept = f"{len(bars) - len(missed)} of {len(bars)} bars are met."
    return kept + (f" Not met: {'; '.join(missed)}." if missed else "")


def bars_table(bars: list[Bar]) -> str:
    """Each promise, and what came of it."""
    return table(
        ["", "bar", "measured", ""],
        [
            [
                bar.what,
                f"{'≥' if bar.at_least else '≤'} {bar.limit:,}",
                show_figure(bar.figure, bar.decimals),
                "met" if bar.is_met else "**not met**" if bar.figure else "not measured",
            ]
            for bar in bars
        ],
    )


def command(argv: list[str], directory: Path) -> str:
    """A command line as it is shown, without the directory of one run."""
    return shlex.join(argv).replace(f"{directory}/", "").replace(str(directory), ".")
