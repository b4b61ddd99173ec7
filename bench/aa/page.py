"""Rows to Markdown: docs/results/aa.md."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import median

from shared import binomial
from shared.ledger import Ledger
from shared.markdown import plural, table

from . import comparison, naive
from .subjects import FORMER, SUBJECTS, Subject

MAX_FALSE_VERDICTS = 0.05
MIN_NULL_COMPARISONS = 200
MIN_POWER = {"known-5%-quick": 0.95, "known-2%-default": 0.95, "known-1%-default": 0.80}
"""The bar of each subject."""
MIN_COVERAGE = 0.93
DIFFERENCE = "difference"
COLUMNS = {"comparisons": comparison.COLUMNS, "naive": naive.COLUMNS}

Rows = list[dict[str, str]]


def write(comparisons: Ledger, pairs: Ledger, of_precision: Ledger) -> str:
    """The whole page. What bench-precision compares with the present release are servers with themselves too."""
    shared = [row for row in of_precision.rows() if row["commit"] == comparison.NOW]
    every = comparisons.rows() + shared
    capacities = [row for row in every if comparison.is_former_capacity(row)]
    rows = [row for row in every if not comparison.is_former_capacity(row)]
    names = {subject.name for subject in SUBJECTS}
    present = [row for row in rows if row["subject"] in names]
    dates = sorted({row["at"][:10] for row in every})
    null_head = ["subject", "comparisons", "false verdicts", "share (95 % CI)", "inconclusive", "median half-width", "median duration", "ratios"]
    power_head = ["subject", "comparisons", "found", "power (95 % CI)", "no ratio", "coverage (95 % CI)", "median ratio",
                  "true ratio", "median duration", "bar"]  # fmt: skip
    return f"""# False and true verdicts

{plural(len(every), "comparison")} by `make bench-aa` and `make bench-precision` ({", ".join(dates) or "none yet"}). The series continues with the same commands.

- Each comparison is a whole `showdown compare` with newly started servers.
- A false verdict is one of a difference between equal servers.
- *Capacity* is what `compare` measures if nobody names a measure. Where the client would be the limit, it is CPU time an operation
  (decision 0011), as often for memcached on 2 CPUs.
- Until {comparison.SUSTAINED_SINCE[:16]} a capacity was another quantity (decision 0033). Those comparisons have a table of their own, and are in no bar.
- Until 2026-11-27 quick comparisons ended after six or seven blocks, and default ones with any verdict at a look (decision 0002).
- Until 2026-11-28T00:50 the known server did some 0.05 % of a request's work less than it should where it was to be slower: a true 2 % was 1.95 %.
- {plural(len(shared), "comparison")} of equal servers {"is" if len(shared) == 1 else "are"} by `make bench-precision`. Those before 2026-11-26 had a client that slept (decision 0010);
  [precision.md](precision.md) leaves them out.
- Shares have exact binomial confidence intervals at 95 %.
- The rows are in `aa/` and `precision/`. [GLOSSARY](../GLOSSARY.md) explains the terms.

## A server compared with itself: how often is the verdict false?

{_subjects(_null_line, null_head, rows, SUBJECTS, True)}
{_all_null(present)}
{_naive(pairs.rows())}

## A server compared with a slowed copy: how often is the difference found?

- **Power** is the share of comparisons with a verdict of the right sign.
- **Coverage** is the share of confidence intervals that contain the true ratio.
- **No ratio**: too few blocks of the comparison were valid.

{_subjects(_power_line, power_head, rows, SUBJECTS, False)}
{_all_coverage(present)}

## Capacities by the former definition (until decision 0033)

A capacity was the rate at which half of the slices of 100 ms missed the objective. These intervals say nothing of those of a sustained capacity, which are wider.

{_subjects(_null_line, null_head, capacities, SUBJECTS + FORMER, True)}

## Before servers were loaded in turns (decision 0009)

{_subjects(_null_line, null_head, rows, FORMER, True)}

{_subjects(_power_line, power_head, rows, FORMER, False)}
"""


def _subjects(line: Callable[[Subject, Rows], list[str]], head: list[str], rows: Rows, subjects: list[Subject], null: bool) -> str:
    def of(subject: Subject) -> Rows:
        return [row for row in rows if row["subject"] == subject.name]

    lines = [line(subject, of(subject)) for subject in subjects if subject.is_null == null and of(subject)]
    return table(head, lines) if lines else "None compared yet."


def _is_null(row: dict[str, str]) -> bool:
    return float(row["truth"]) == 1.0


def _share(count: int, of: int) -> str:
    low, high = binomial.interval(count, of)
    return f"{count / of:.1%} ({low:.1%}–{high:.1%})"


def _duration(rows: Rows) -> str:
    return f"{median(float(row['seconds']) for row in rows):.0f} s"


def _ratios(rows: Rows) -> list[float]:
    return sorted(float(row["ratio"]) for row in rows if row["ratio"])


def _null_line(subject: Subject, rows: Rows) -> list[str]:
    false = sum(row["verdict"] == DIFFERENCE for row in rows)
    inconclusive = sum(row["verdict"] == "inconclusive" for row in rows)
    ratios = _ratios(rows)
    span = f"{ratios[0]:.3f}–{ratios[-1]:.3f}" if ratios else "–"
    half = half_widths(rows)
    middle = f"±{median(half):.1%}" if half else "–"
    return [subject.what, str(len(rows)), str(false), _share(false, len(rows)), str(inconclusive), middle, _duration(rows), span]


def half_widths(rows: Rows) -> list[float]:
    """How far the interval of each comparison reaches to either side of its middle, as a factor less one."""
    return [math.sqrt(float(row["high"]) / float(row["low"])) - 1 for row in rows if row["low"]]


def _all_null(rows: Rows) -> str:
    """The sentence of the bar: all comparisons of equal variants."""
    null = [row for row in rows if _is_null(row)]
    if not null:
        return ""
    false = sum(row["verdict"] == DIFFERENCE for row in null)
    met = "met" if false <= MAX_FALSE_VERDICTS * len(null) else "**not met**"
    so_far = "" if len(null) >= MIN_NULL_COMPARISONS else f" so far, in {len(null)}"
    return (
        f"\nIn all: {plural(false, 'false verdict')} in {plural(len(null), 'comparison')}, {_share(false, len(null))}. Bar: at most"
        f" {MAX_FALSE_VERDICTS:.0%} of at least {MIN_NULL_COMPARISONS}: {met}{so_far}."
    )


def _naive(rows: Rows) -> str:
    if not rows:
        return ""
    apart = sorted(abs(float(row["first_per_s"]) / float(row["second_per_s"]) - 1) for row in rows)
    beyond = sum(difference > 0.05 for difference in apart)
    return (
        f"\nFor comparison, the usual method: one run of wrk per server, {naive.RUN_SECONDS} s against nginx with a file of 1 KiB.\n\n"
        + table(
            ["pairs of runs", "median difference", "largest difference", "share of pairs more than 5 % apart (95 % CI)"],
            [[str(len(rows)), f"{median(apart):.1%}", f"{apart[-1]:.1%}", _share(beyond, len(rows))]],
        )
    )


def _power_line(subject: Subject, rows: Rows) -> list[str]:
    found = sum(row["verdict"] == DIFFERENCE and float(row["ratio"]) > 1 for row in rows)
    covered, estimated = _coverage(rows)
    coverage = _share(covered, estimated) if estimated else "–"
    ratios = _ratios(rows)
    without = sum(not row["ratio"] for row in rows)
    least = MIN_POWER.get(subject.name)
    bar = ""
    if least:
        bar = f"power ≥ {least:.0%}: " + (f"met so far, in {len(rows)}" if found >= least * len(rows) else "**not met**")
    if bar and 0 < without < len(rows):
        bar += f"; of those with a ratio {_share(found, len(rows) - without)}"
    middle = f"{median(ratios):.4f}" if ratios else "–"
    return [subject.what, str(len(rows)), str(found), _share(found, len(rows)), str(without), coverage, middle,
            f"{subject.truth:.2f}", _duration(rows), bar]  # fmt: skip


def _coverage(rows: Rows) -> tuple[int, int]:
    """The number of intervals that contain the true ratio, and the number of intervals."""
    estimated = [row for row in rows if row["low"]]
    return sum(float(row["low"]) <= float(row["truth"]) <= float(row["high"]) for row in estimated), len(estimated)


def _all_coverage(rows: Rows) -> str:
    """The coverage over all sizes of the difference, because each size has too few rows."""
    covered, estimated = _coverage([row for row in rows if not _is_null(row)])
    if not estimated:
        return ""
    met = "met" if covered >= MIN_COVERAGE * estimated else "**not met**"
    return (
        f"\nIn all: {covered} of {plural(estimated, 'interval')} contain the true ratio, {_share(covered, estimated)}. Bar: at least"
        f" {MIN_COVERAGE:.0%}: {met}."
    )
