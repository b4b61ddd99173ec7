"""The page of the planted causes, from its rows: docs/results/explain.md."""

from __future__ import annotations

from collections import Counter

from shared.figures import Rows
from shared.markdown import facts_table, plural, shell, table
from shared.results import Settings

from .causes import CAUSES
from .difference import SHARES

BAR = 0.95


def render(rows: Rows, settings: Settings) -> str:
    """The page as Markdown."""
    pairs = [row for row in rows if row["cause"] in SHARES]
    rows = [row for row in rows if row["cause"] in CAUSES]
    lines = [_line(name, rows) for name in CAUSES]
    commits = Counter(row["commit"] for row in [*rows, *pairs])
    return f"""# Explain

Causes that were planted in real servers under a closed loop, and what `showdown explain --quick` said of them: {plural(len(rows), "case")}.
{_verdict(rows)}

{table(["cause", "what limits the server", "cases", "named first", "decided", "other first suspects"], [line for line in lines if line])}

*Named first*: the first suspect is the cause. *Decided*: its word is *limits* or *shared*, which needs an experiment. A cause that
no experiment takes less of can only be *suspected*.

{_wrong(rows)}{_pairs(pairs)}{_costs([*rows, *pairs])}## Where and how

{shell([str(settings.get("commands", "make bench-explain"))])}

{facts_table(settings)}

Cases by the commit of showdown: {", ".join(f"{commit} {number}" for commit, number in commits.items())}. The rows are in [cases.csv](explain/cases.csv). A stopped bench continues with the same command.
"""


def _verdict(rows: Rows) -> str:
    named, decided = (sum(1 for row in rows if row[column]) for column in ("named", "decided"))
    share = named / len(rows) if rows else 0.0

    def word(is_met: bool) -> str:
        return "met" if is_met else "**not met**"

    return f"""The cause was named first in {named} of them ({share:.0%}; bar: {BAR:.0%}, {word(share >= BAR)}). An experiment decided in {decided} (bar:
all, {word(decided == len(rows))})."""


def _line(name: str, rows: Rows) -> list[str] | None:
    own = [row for row in rows if row["cause"] == name]
    if not own:
        return None
    others = sorted({row["resource"] or "none" for row in own if not row["named"]})
    named, decided = (str(sum(1 for row in own if row[column])) for column in ("named", "decided"))
    return [f"`{name}`", CAUSES[name].about, str(len(own)), named, decided, ", ".join(others)]


def _pairs(rows: Rows) -> str:
    """The cases of two servers, if there are any."""
    if not rows:
        return ""
    lines = []
    for name, share in SHARES.items():
        own = [row for row in rows if row["cause"] == name]
        right = sum(1 for row in own if row["named"])
        wrong = sorted({row["resource"] or row["message"] or "none" for row in own if not row["named"]})
        lines.append([f"{share:.0%}", str(len(own)), str(right), ", ".join(wrong)])
    head = ["planted CPU time", "cases", "right", "significant functions of 1 % or more where it was wrong"]
    return f"""## Two servers of which one has a function more

memcached twice, the second with a function that uses a share of the CPU time of each operation. Right is: it leads the difference and is
significant, and no other function that differs by 1 % or more is; of equal servers none (bar: 9 of 10).

{table(head, lines)}

"""


def _costs(rows: Rows) -> str:
    """What profiling and watching cost over all cases, and how much of the CPU time functions explain."""
    lines = []
    for column, title, bar in (
        ("profiled", "throughput while profiling, of that without", "0.97 or more"),
        ("watched", "throughput while waits are watched, of that without", "0.90 or more"),
        ("waking", "CPU time that threads have before they run, of the measured", "none"),
        ("rest", "CPU time that nothing explains, of the measured", "-0.05 to 0.05"),
    ):
        values = sorted(float(row[column]) for row in rows if row.get(column))
        if values:
            lines.append([title, bar, str(len(values)), *(f"{quantile(values, share):.3f}" for share in (0.5, 0.1, 0.9))])
    if not lines:
        return ""
    return f"""## What looking costs

{table(["what", "bar", "cases", "median", "lowest tenth", "highest tenth"], lines)}

A ratio of two short slices scatters by some percent itself. Watching waits ended by itself in
{sum(1 for row in rows if row.get("watched_s"))} of the cases.

"""


def quantile(ascending: list[float], share: float) -> float:
    """The value that this share of the values do not exceed."""
    return ascending[min(round(share * (len(ascending) - 1)), len(ascending) - 1)]


def _wrong(rows: Rows) -> str:
    wrong = [row for row in rows if not row["named"]]
    if not wrong:
        return ""
    said = [[f"`{row['cause']}`", row["round"], row["sentence"] or row["message"]] for row in wrong]
    return f"## Cases in which another suspect was first\n\n{table(['cause', 'round', 'what was said'], said)}\n\n"
