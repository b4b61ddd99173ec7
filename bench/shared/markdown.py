"""Figures, tables and sentences of all pages of results, as Markdown."""

from __future__ import annotations

import shlex
from pathlib import Path

from .figures import Bar, Figure

BUSY = "\n**Measured on a busy machine: these figures do not count.**\n"


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """`1 row`, `2 rows`, `1,200 rows`."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def show_figure(figure: Figure | None, decimals: int = 0) -> str:
    """The median, with the minimum and the maximum where they differ."""
    if figure is None:
        return "–"
    middle, least, most = (f"{value:,.{decimals}f}" for value in (figure.middle, figure.least, figure.most))
    return middle if least == most else f"{middle} ({least}–{most})"


def share(value: float | None) -> str:
    """A share of 1 in whole per cent."""
    return "–" if value is None else f"{value:.0%}"


def table(head: list[str], rows: list[list[str]], numbers: bool = False) -> str:
    """A table with a head. With `numbers`, all columns but the first are aligned to the right."""
    rules = ["---"] + ["--:" if numbers else "---"] * (len(head) - 1)
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, rules, *rows])


def verdict(bars: list[Bar]) -> str:
    """How many bars are met, and which are not."""
    missed = [bar.what for bar in bars if not bar.is_met]
    met = f"{len(bars) - len(missed)} of {plural(len(bars), 'bar')} {'is' if len(bars) == 1 else 'are'} met."
    return met + (f" Not met: {'; '.join(missed)}." if missed else "")


def bars_table(bars: list[Bar]) -> str:
    """Each bar with its limit, its figure and the result."""
    return table(
        ["", "bar", "measured", "result"],
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


def facts_table(settings: dict[str, object], without: tuple[str, ...] = ("commands",)) -> str:
    """The facts of the machine and the settings of the bench."""
    return table(["", ""], [[name, str(value)] for name, value in settings.items() if name not in without])


def shell(lines: list[str]) -> str:
    """A block of commands."""
    return "\n".join(["```sh", *lines, "```"])


def command(argv: list[str], directory: Path) -> str:
    """A command line for a page, without the path of the run's own directory."""
    return shlex.join(argv).replace(f"{directory}/", "").replace(str(directory), ".")
