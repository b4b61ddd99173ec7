"""Rows to Markdown: docs/results/company.md."""

from __future__ import annotations

from statistics import median

from aa.comparison import COLUMNS as OF_COMPARISON
from shared import binomial
from shared.ledger import Ledger
from shared.markdown import plural, table

from .company import KINDS, Kind
from .subjects import SUBJECTS

COLUMNS = ["kind", *OF_COMPARISON]
DIFFERENCE, INCONCLUSIVE = "difference", "inconclusive"
CPU_TIME = "µs"
MAX_FALSE, MIN_NULL = 0.05, 140
MIN_COVERAGE = 0.93
MIN_FOUND = {"known-5%": 0.90, "known-2%": 0.80}
ANSWERED_S = 180.0
LONG = {subject.name for subject in SUBJECTS if "--quick" not in subject.options}
FEWEST = 20
"""Comparisons below which a share says nothing of a bar."""

Rows = list[dict[str, str]]


def write(comparisons: Ledger) -> str:
    """The whole page."""
    rows = comparisons.rows()
    company = [row for row in rows if row["kind"] != "quiet"]
    days = sorted({row["at"][:10] for row in rows})
    head = ["company", "comparisons", "answered within 3 minutes", "false verdicts of equal servers", "intervals with the known ratio",
            "known 5 % found", "known 2 % found", "median duration"]  # fmt: skip
    return f"""# Comparisons beside other programs

{plural(len(rows), "comparison")} by `make bench-company` ({", ".join(days) or "none yet"}). The series continues with the same command.

- Each comparison is a whole `showdown compare` with newly started servers, beside other programs of one kind. The measure is the program's own choice.
- **False** is a verdict of a difference between equal servers. **Answered** is any verdict but "inconclusive".
- Shares have exact binomial confidence intervals at 95 %. The rows are in `company/`. [GLOSSARY](../GLOSSARY.md) explains the terms.

## Bars

{table(["", "bar", "measured", "result"], _bars(company))}

## By kind of company

{table(head, [_line(kind, [row for row in rows if row["kind"] == kind.name]) for kind in KINDS])}

{chr(10).join(f"- **{kind.name}**: {kind.what}." for kind in KINDS)}

## nginx and Apache

{_nginx_and_apache(rows)}
"""


def _bars(rows: Rows) -> list[list[str]]:
    null, known = _null(rows), _known(rows)
    false, covered = sum(map(_is_difference, null)), sum(map(_is_covered, known))
    enough = "" if len(null) >= MIN_NULL else f", of {MIN_NULL} planned"
    lines = [
        ["false verdicts of equal servers", f"≤ {MAX_FALSE:.0%} of {MIN_NULL}", _share(false, len(null)) + enough, _met(false <= MAX_FALSE * len(null), null)],
        ["intervals that hold the known ratio", f"≥ {MIN_COVERAGE:.0%}", _share(covered, len(known)), _met(covered >= MIN_COVERAGE * len(known), known)],
    ]
    for name, least in MIN_FOUND.items():
        of_subject = [row for row in rows if row["subject"] == name]
        found = sum(map(_is_found, of_subject))
        lines.append([f"{name} found", f"≥ {least:.0%}", _share(found, len(of_subject)), _met(found >= least * len(of_subject), of_subject)])
    quick = _quick(rows)
    answered = sum(map(_is_answered_soon, quick))
    lines.append(["quick comparisons answered within 3 minutes", "≥ 90%", _share(answered, len(quick)), _met(answered >= 0.9 * len(quick), quick)])
    return lines


def _line(kind: Kind, rows: Rows) -> list[str]:
    def found(name: str) -> str:
        of_subject = [row for row in rows if row["subject"] == name]
        return f"{sum(map(_is_found, of_subject))} of {len(of_subject)}"

    null, known = _null(rows), _known(rows)
    quick = _quick(rows)
    answered = sum(map(_is_answered_soon, quick))
    duration = f"{median(float(row['seconds']) for row in rows):.0f} s" if rows else "–"
    return [
        kind.name, str(len(rows)), f"{answered} of {len(quick)}", f"{sum(map(_is_difference, null))} of {len(null)}",
        f"{sum(map(_is_covered, known))} of {len(known)}", found("known-5%"), found("known-2%"), duration,
    ]  # fmt: skip


def _nginx_and_apache(rows: Rows) -> str:
    lines = [
        [row["kind"], row["unit"], row["verdict"], f"{float(row['ratio']):.2f} ({float(row['low']):.2f} to {float(row['high']):.2f})" if row["ratio"] else "–", row["seconds"] + " s"]
        for row in rows
        if row["subject"] == "nginx-apache"
    ]
    head = ["company", "unit of the measure", "verdict", "nginx ÷ Apache", "duration"]
    return table(head, sorted(lines)) if lines else "None compared yet."


def _null(rows: Rows) -> Rows:
    return [row for row in rows if float(row["truth"]) == 1.0]


def _known(rows: Rows) -> Rows:
    """Comparisons whose true ratio is known, with an interval."""
    return [row for row in rows if float(row["truth"]) > 0 and row["ratio"]]


def _quick(rows: Rows) -> Rows:
    return [row for row in rows if row["subject"] not in LONG]


def _truth(row: dict[str, str]) -> float:
    """The ratio of the measure: more work a request is less throughput, and more CPU time an operation."""
    truth = float(row["truth"])
    return 1 / truth if row["unit"] == CPU_TIME else truth


def _is_difference(row: dict[str, str]) -> bool:
    return row["verdict"] == DIFFERENCE


def _is_answered_soon(row: dict[str, str]) -> bool:
    return row["verdict"] != INCONCLUSIVE and float(row["seconds"]) <= ANSWERED_S


def _is_found(row: dict[str, str]) -> bool:
    return _is_difference(row) and (float(row["ratio"]) > 1) == (_truth(row) > 1)


def _is_covered(row: dict[str, str]) -> bool:
    return float(row["low"]) <= _truth(row) <= float(row["high"])


def _share(count: int, of: int) -> str:
    if of == 0:
        return "–"
    low, high = binomial.interval(count, of)
    return f"{count} of {of} ({low:.0%}–{high:.0%})"


def _met(is_met: bool, rows: Rows) -> str:
    if len(rows) < FEWEST:
        return "too few yet"
    return "met" if is_met else "**not met**"


SUBJECT_NAMES = [subject.name for subject in SUBJECTS]
