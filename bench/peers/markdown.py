"""Figures and tables as Markdown has them, for all pages of results."""

from __future__ import annotations

from .figures import Figure


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
