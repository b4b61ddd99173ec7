"""Rows to Markdown: docs/results/company.md."""

from __future__ import annotations

from statistics import median

from aa.comparison import BEFORE, COLUMNS as OF_COMPARISON
from aa.page import half_widths
from shared import binomial
from shared.ledger import Ledger
from shared.markdown import plural, table

from .company import KINDS, Kind
from .subjects import README, SUBJECTS

COLUMNS = ["kind", *OF_COMPARISON]
DIFFERENCE, INCONCLUSIVE = "difference", "inconclusive"
CPU_TIME = "µs"
MAX_FALSE, MIN_NULL = 0.05, 140
MIN_COVERAGE = 0.93
MIN_FOUND = {"known-5%": 0.90, "known-2%": 0.80}
ANSWERED_S = 180.0
FOUND_WITHIN_S = {"known-5%": ANSWERED_S, "known-2%": 600.0}
"""5 % within three minutes; 2 % within the ten that a default comparison takes without company."""
MAX_WIDER = 1.05
"""Quiet half-widths over those of the release before company."""
MIN_CLIENT = 0.95
"""Requests a second of the client over wrk's, in the same minute."""
RATIO_SUBJECTS = ("nginx-apache", "nginx-apache-cpu")
LONG = {subject.name for subject in SUBJECTS if "--quick" not in subject.options}
FEWEST = 20
"""Comparisons below which a share says nothing of a bar."""
FEWEST_OF_KIND = 10
"""The same in one kind of company: a bar of 90 % that nine of ten meet."""

Rows = list[dict[str, str]]


def write(comparisons: Ledger, of_clients: Ledger) -> str:
    """The whole page."""
    all_rows, clients = comparisons.rows(), of_clients.rows()
    rows = [row for row in all_rows if row["commit"] != BEFORE]
    company = [row for row in rows if row["kind"] != "quiet"]
    days = sorted({row["at"][:10] for row in rows})
    head = ["company", "comparisons", "answered within 3 minutes", "false verdicts of equal servers", "intervals with the known ratio",
            "known 5 % found", "known 2 % found", "median duration"]  # fmt: skip
    return f"""# Comparisons beside other programs

{plural(len(rows), "comparison")} by `make bench-company` ({", ".join(days) or "none yet"}). The series continues with the same command.

- Each comparison is a whole `showdown compare` with newly started servers, beside other programs of one kind. The measure is the program's own choice.
- **False** is a verdict of a difference between equal servers. **Answered** is any verdict but "inconclusive".
- **Found** is a difference in the right direction within 3 minutes (5 % more work) or 10 minutes (2 %).
- Commits: {_commits(rows)}. Eight comparisons of 2026-11-29, from before the rules of the client's gate were changed, are in `company/earlier.csv`.
- Shares have exact binomial confidence intervals at 95 %. The rows are in `company/`. [GLOSSARY](../GLOSSARY.md) explains the terms.

## Bars

{table(["", "bar", "measured", "result"], _bars(rows, company) + [_widths(all_rows), _clients(clients)])}

## By kind of company

{table(head, [_line(kind, [row for row in rows if row["kind"] == kind.name]) for kind in KINDS])}

{chr(10).join(f"- **{kind.name}**: {kind.what}." for kind in KINDS)}

## nginx and Apache

{_nginx_and_apache(rows)}

## The client and wrk

{_of_clients(clients)}
"""


def _commits(rows: Rows) -> str:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["commit"]] = counts.get(row["commit"], 0) + 1
    return ", ".join(f"{commit} ({count})" for commit, count in counts.items()) or "none yet"


def _bars(all_rows: Rows, rows: Rows) -> list[list[str]]:
    """The bars of comparisons beside other programs, which are `rows`."""
    null, known = _null(rows), _known(rows)
    false, covered = sum(map(_is_difference, null)), sum(map(_is_covered, known))
    enough = "" if len(null) >= MIN_NULL else f", of {MIN_NULL} planned"
    lines = [
        ["false verdicts of equal servers", f"≤ {MAX_FALSE:.0%} of {MIN_NULL}", _share(false, len(null)) + enough, _met(false <= MAX_FALSE * len(null), null)],
        ["intervals that hold the known ratio", f"≥ {MIN_COVERAGE:.0%}", _share(covered, len(known)), _met(covered >= MIN_COVERAGE * len(known), known)],
    ]
    for name, least in MIN_FOUND.items():
        lines.append(_found_in_each_kind(name, least, rows))
    quick = _quick(rows)
    answered = sum(map(_is_answered_soon, quick))
    lines.append(["quick comparisons answered within 3 minutes", "≥ 90%", _share(answered, len(quick)), _met(answered >= 0.9 * len(quick), quick)])
    readme = [row for row in rows if row["subject"] in README_NAMES]
    answered = sum(map(_is_answered_soon, readme))
    lines.append(["README's lines beside a compiler answered within 3 minutes", "≥ 90%", _share(answered, len(readme)), _met(answered >= 0.9 * len(readme), readme)])
    lines.extend(_within_quiet(subject, all_rows) for subject in RATIO_SUBJECTS)
    return lines


def _found_in_each_kind(name: str, least: float, rows: Rows) -> list[str]:
    """The bar is of each kind, so its result is that of the worst."""
    of_kinds = {kind.name: [row for row in rows if row["kind"] == kind.name and row["subject"] == name] for kind in KINDS}
    of_kinds = {kind: own for kind, own in of_kinds.items() if own}
    bar = [f"{name} found in each kind within {FOUND_WITHIN_S[name] / 60:.0f} minutes", f"≥ {least:.0%}"]
    if not of_kinds:
        return [*bar, "–", _met(False, [])]
    worst, own = min(of_kinds.items(), key=lambda item: sum(map(_is_found, item[1])) / len(item[1]))
    found = sum(map(_is_found, own))
    fewest = min(of_kinds.values(), key=len)
    return [*bar, f"worst: {worst}, {_share(found, len(own))}", _met(found >= least * len(own), fewest, FEWEST_OF_KIND)]


def _within_quiet(subject: str, rows: Rows) -> list[str]:
    """Ratios beside other programs within the interval of a quiet machine, of the same measure."""
    own = [row for row in rows if row["subject"] == subject and row["ratio"]]
    inside = considered = 0
    for unit in sorted({row["unit"] for row in own}):
        quiet = [row for row in own if row["unit"] == unit and row["kind"] == "quiet"]
        beside = [row for row in own if row["unit"] == unit and row["kind"] != "quiet"]
        if quiet:
            low, high = (median(float(row[end]) for row in quiet) for end in ("low", "high"))
            inside += sum(low <= float(row["ratio"]) <= high for row in beside)
            considered += len(beside)
    met = _met(inside >= MIN_COVERAGE * considered, own[:considered])
    return [f"{subject}: ratios within the quiet interval", f"≥ {MIN_COVERAGE:.0%}", _share(inside, considered), met]


def _widths(rows: Rows) -> list[str]:
    """Half-widths without company over those of the release before company, in the same hours."""
    bar = ["half-widths without company, over those of the release before it", f"≤ {MAX_WIDER}"]
    before = [row for row in rows if row["commit"] == BEFORE]
    subjects = {row["subject"] for row in before}
    now = [row for row in rows if row["commit"] != BEFORE and row["kind"] == "quiet" and row["subject"] in subjects]
    halves_before, halves_now = half_widths(before), half_widths(now)
    if not halves_before or not halves_now:
        return [*bar, "–", _met(False, [])]
    ratio = median(halves_now) / median(halves_before)
    measured = f"{ratio:.2f} (±{median(halves_now):.1%} and ±{median(halves_before):.1%}, {len(halves_now)} and {len(halves_before)} comparisons)"
    return [*bar, measured, _met(ratio <= MAX_WIDER, min(before, now, key=len))]


def _clients(rows: Rows) -> list[str]:
    bar = ["the client's requests a second over wrk's", f"≥ {MIN_CLIENT}"]
    if not rows:
        return [*bar, "–", _met(False, [])]
    ratio = median(map(_over_wrk, rows))
    return [*bar, f"{ratio:.2f} in the median of {len(rows)}", _met(ratio >= MIN_CLIENT, rows)]


def _of_clients(rows: Rows) -> str:
    lines = [[row["kind"], row["commit"], row["connections"], row["showdown_per_s"], row["wrk_per_s"], f"{_over_wrk(row):.2f}"] for row in rows]
    head = ["company", "commit", "connections", "showdown, 1/s", "wrk, 1/s", "showdown ÷ wrk"]
    return table(head, lines) if lines else "Not compared yet."


def _over_wrk(row: dict[str, str]) -> float:
    return float(row["showdown_per_s"]) / float(row["wrk_per_s"])


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
        [row["subject"], row["kind"], row["commit"], row["unit"], row["verdict"], f"{float(row['ratio']):.2f} ({float(row['low']):.2f} to {float(row['high']):.2f})" if row["ratio"] else "–", row["seconds"] + " s"]
        for row in rows
        if row["subject"] in RATIO_SUBJECTS
    ]
    head = ["comparison", "company", "commit", "unit of the measure", "verdict", "nginx ÷ Apache", "duration"]
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
    is_in_time = float(row["seconds"]) <= FOUND_WITHIN_S.get(row["subject"], ANSWERED_S)
    return is_in_time and _is_difference(row) and (float(row["ratio"]) > 1) == (_truth(row) > 1)


def _is_covered(row: dict[str, str]) -> bool:
    return float(row["low"]) <= _truth(row) <= float(row["high"])


def _share(count: int, of: int) -> str:
    if of == 0:
        return "–"
    low, high = binomial.interval(count, of)
    return f"{count} of {of} ({low:.0%}–{high:.0%})"


def _met(is_met: bool, rows: Rows, fewest: int = FEWEST) -> str:
    if len(rows) < fewest:
        return "too few yet"
    return "met" if is_met else "**not met**"


README_NAMES = {subject.name for subject in README}
SUBJECT_NAMES = [subject.name for subject in SUBJECTS + README]
