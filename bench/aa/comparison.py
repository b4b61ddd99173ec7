"""One comparison by `showdown compare` as a row: its verdict, and the trials behind it."""

from __future__ import annotations

import json
import time
from pathlib import Path

from shared import series
from shared.showdown import ask

from .subjects import KNOWN, Subject

COLUMNS = "at commit subject truth seed seconds verdict ratio low high blocks trials valid first second unit".split()
"""`first` and `second` are the valid trials of the variants, as `number:value`. Rows before 2026-11-27 do not have them. `unit` is that of
the values, `µs` of CPU time an operation. It came last: rows of capacities before it have it by their values."""

NOW, BEFORE = "now", "before"
"""What the column `commit` says in the rows of bench-precision: the present release, or an earlier one."""

BENCH = Path(__file__).resolve().parents[1]

SUSTAINED_SINCE = "2026-11-28T22:58:00Z"
"""Since when a capacity is a rate that is sustained (decision 0033). Until then it was a rate at which half of the slices of 100 ms met the
objective: another quantity, with narrower intervals."""


def is_former_capacity(row: dict[str, str]) -> bool:
    """Whether a row compares capacities by the definition from before decision 0033. CPU time an operation took the place of some."""
    return "-capacity" in row["subject"] and row["unit"] != "µs" and row["at"] < SUSTAINED_SINCE


def compare(showdown: Path, subject: Subject, seed: int, commit: str, runs: Path) -> dict[str, object]:
    """Compares once. Only the verdict is kept, as a row."""
    workload = str(BENCH / KNOWN) if subject.workload == KNOWN else subject.workload
    arguments = ["compare", *subject.variants, "--workload", workload, *subject.options]
    answer, seconds = answer_of(showdown, [*arguments, "--seed", str(seed)], runs)
    return row(answer, subject, seed, commit, seconds)


def answer_of(showdown: Path, arguments: list[str], runs: Path) -> tuple[dict, float]:
    """What a run answers, and how many seconds it took."""
    began = time.monotonic()
    # In a directory without workloads, so that an earlier release takes its own and not those of this repository.
    answer = ask(showdown, [*arguments, "--format", "json", "--progress", "none", "--runs", str(runs)], runs)
    return json.loads(answer), time.monotonic() - began


def row(answer: dict, subject: Subject, seed: int, commit: str, seconds: float) -> dict[str, object]:
    """The verdict of a comparison of two variants, with the ratio of the first to the second."""
    [comparison] = answer["comparisons"]
    estimate = comparison["estimate"]
    first, second = (variant["name"] for variant in answer["variants"])
    ratio, low, high = (estimate[key] for key in ("ratio", "low", "high")) if estimate else (None, None, None)
    if estimate and (comparison["a"], comparison["b"]) == (second, first):
        ratio, low, high = 1 / ratio, 1 / high, 1 / low
    of_first, of_second = (variant["values"] for variant in answer["variants"])
    values = of_first + of_second
    return {
        "at": series.now(),
        "commit": commit,
        "subject": subject.name,
        "truth": subject.truth,
        "seed": seed,
        "seconds": round(seconds, 1),
        "verdict": comparison["verdict"]["outcome"],
        "ratio": _figure(ratio),
        "low": _figure(low),
        "high": _figure(high),
        "blocks": estimate["blocks"] if estimate else 0,
        "trials": len(values),
        "valid": sum(value["valid"] for value in values),
        "first": _trials(of_first),
        "second": _trials(of_second),
        "unit": answer["unit"],
    }


def _trials(values: list[dict]) -> str:
    return " ".join(f"{value['trial']}:{value['value']:.6g}" for value in values if value["valid"])


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.5f}"
