"""From the rows to docs/results/aa.md."""

from __future__ import annotations

from statistics import median

from . import binomial, comparison, naive
from .ledger import Ledger
from .subjects import FORMER, SUBJECTS, Subject

FALSE_VERDICTS_ALLOWED = 0.05
NULL_COMPARISONS_WANTED = 100
POWER_WANTED = 0.95
COVERAGE_WANTED = 0.93
DIFFERENCE = "difference"


def write(comparisons: Ledger, pairs: Ledger) -> str:
    """The whole page."""
    rows = comparisons.rows()
    dates = sorted({row["at"][:10] for row in rows})
    return f"""# A server compared with itself, and with a slowed copy of itself

{len(rows)} comparisons by `make bench-aa` ({", ".join(dates) or "none yet"}), a series that goes on wherever it was stopped. Each is a
whole `showdown compare` with servers started anew; only a verdict that claims a difference counts as one. Shares have exact
binomial intervals at 95 %. The rows are in `aa/`.

## Nothing differs: how often is a difference claimed?

| what | comparisons | false verdicts | share (95 % CI) | inconclusive | median length | ratios seen |
|---|---|---|---|---|---|---|
{_lines(_null, rows, True)}
{_all_null(rows)}
{_naive(pairs.rows())}

## Something differs: how often is it found?

Power is the share of comparisons with a verdict of the right sign; coverage that of intervals that hold the true ratio. Refused
are comparisons without a ratio, because too few of their blocks counted.

| what | comparisons | found | power (95 % CI) | refused | coverage (95 % CI) | median ratio | true ratio | median length | bar |
|---|---|---|---|---|---|---|---|---|---|
{_lines(_power, rows, False)}
{_all_held(rows)}
"""


def _lines(line, rows: list[dict[str, str]], null: bool) -> str:
    def of(subject: Subject) -> list[dict[str, str]]:
        return [row for row in rows if row["subject"] == subject.name]

    return "\n".join(line(subject, of(subject)) for subject in [*SUBJECTS, *FORMER] if subject.is_null == null and of(subject))


def _is_of_equals(row: dict[str, str]) -> bool:
    return float(row["truth"]) == 1.0


def _share(count: int, of: int) -> str:
    low, high = binomial.interval(count, of)
    return f"{count / of:.1%} ({low:.1%}–{high:.1%})"


def _seconds(rows: list[dict[str, str]]) -> str:
    return f"{median(float(row['seconds']) for row in rows):.0f} s"


def _ratios(rows: list[dict[str, str]]) -> list[float]:
    return sorted(float(row["ratio"]) for row in rows if row["ratio"])


def _null(subject: Subject, rows: list[dict[str, str]]) -> str:
    false = sum(row["verdict"] == DIFFERENCE for row in rows)
    without = sum(row["verdict"] == "inconclusive" for row in rows)
    ratios = _ratios(rows)
    seen = f"{ratios[0]:.3f}–{ratios[-1]:.3f}" if ratios else "–"
    return f"| {subject.what} | {len(rows)} | {false} | {_share(false, len(rows))} | {without} | {_seconds(rows)} | {seen} |"


def _all_null(rows: list[dict[str, str]]) -> str:
    """The sentence that the bar is about: all comparisons of equals taken together."""
    null = [row for row in rows if _is_of_equals(row)]
    if not null:
        return ""
    false = sum(row["verdict"] == DIFFERENCE for row in null)
    met = "met" if false <= FALSE_VERDICTS_ALLOWED * len(null) else "**not met**"
    so_far = "" if len(null) >= NULL_COMPARISONS_WANTED else f" so far, of {len(null)}"
    return (
        f"\nTogether: {false} false verdicts in {len(null)} comparisons, {_share(false, len(null))}. Bar: at most"
        f" {FALSE_VERDICTS_ALLOWED:.0%} of at least {NULL_COMPARISONS_WANTED}: {met}{so_far}."
    )


def _naive(rows: list[dict[str, str]]) -> str:
    if not rows:
        return ""
    apart = sorted(abs(float(row["first_per_s"]) / float(row["second_per_s"]) - 1) for row in rows)
    beyond = sum(difference > 0.05 for difference in apart)
    return (
        f"\nOne run of wrk each, {naive.RUN_SECONDS} s against nginx with a file of 1 KiB, and the two numbers compared, as it is usually"
        f" done: in {len(rows)} pairs they were {median(apart):.1%} apart in the median, {apart[-1]:.1%} at most, and more than 5 %"
        f" in {_share(beyond, len(rows))}."
    )


def _power(subject: Subject, rows: list[dict[str, str]]) -> str:
    found = sum(row["verdict"] == DIFFERENCE and float(row["ratio"]) > 1 for row in rows)
    held, estimated = _held(rows)
    coverage = _share(held, estimated) if estimated else "–"
    ratios = _ratios(rows)
    refused = sum(not row["ratio"] for row in rows)
    is_found = f"met so far, of {len(rows)}" if found >= POWER_WANTED * len(rows) else "**not met**"
    if 0 < refused < len(rows):
        is_found += f"; of those with a ratio {_share(found, len(rows) - refused)}"
    bar = f"power ≥ {POWER_WANTED:.0%}: {is_found}" if subject.name == "known-5%-default" else ""
    return (
        f"| {subject.what} | {len(rows)} | {found} | {_share(found, len(rows))} | {refused} | {coverage}"
        f" | {f'{median(ratios):.4f}' if ratios else '–'} | {subject.truth:.2f} | {_seconds(rows)} | {bar} |"
    )


def _held(rows: list[dict[str, str]]) -> tuple[int, int]:
    """How many intervals hold the true ratio, and of how many."""
    estimated = [row for row in rows if row["low"]]
    return sum(float(row["low"]) <= float(row["truth"]) <= float(row["high"]) for row in estimated), len(estimated)


def _all_held(rows: list[dict[str, str]]) -> str:
    """All sizes of the difference taken together: each by itself has too few rows to say."""
    held, estimated = _held([row for row in rows if not _is_of_equals(row)])
    if not estimated:
        return ""
    met = "met" if held >= COVERAGE_WANTED * estimated else "**not met**"
    return (
        f"\nTogether {held} of {estimated} intervals hold the true ratio, {_share(held, estimated)}. Bar: at least"
        f" {COVERAGE_WANTED:.0%}: {met}."
    )


COLUMNS = {"comparisons": comparison.COLUMNS, "naive": naive.COLUMNS}
