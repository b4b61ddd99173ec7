"""Verdicts to Markdown: docs/results/workloads.md."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from pathlib import Path

from shared.markdown import plural, table

from . import answer, rounds
from .lines import LINES


def write(answers: Path, target: Path) -> Path:
    """The page of all commands that have a verdict."""
    answered = [line for line in LINES if answer.path(answers, line).exists()]
    found = [(line, json.loads(answer.path(answers, line).read_text())) for line in answered]
    rows = [_row(line.name, line.workload, one) for line, one in found]
    machines = sorted({(one["asked"]["CPU"], one["asked"]["CPUs"], one["asked"]["kernel"]) for _, one in found})
    kept = rounds.store(answers).rows(rounds.ROUNDS)
    target.write_text(f"""# The workloads, run for real

{len(rows)} of {plural(len(LINES), "command")}, run by `make bench-workloads`. Each row has a command, its verdict and the number of its valid trials.
A name links to the report with every trial. Beside the report is the verdict as JSON.

- Client and servers share one machine: {"; ".join(f"{cpu}, CPUs: {cpus}, {kernel}" for cpu, cpus, kernel in machines)}.
  The rows are examples and not a ranking.
- The report has the reason of each trial that is not valid. Of two CPUs the client has one, and is often the limit.

{table(["", "workload", "command", "verdict", "valid trials", "duration", "date"], rows)}
{_rounds(kept) if kept else ""}""")
    return target


def _rounds(rows: list[dict[str, str]]) -> str:
    """How many runs have ended in a verdict, and which gates refused trials."""
    before, kept = rounds.by_method(rows)
    earlier = f" Of the {plural(len(before), 'run')} before, by other methods, {_answered(before)} did." if before else ""
    lines = []
    for line in LINES:
        own = [one for one in kept if one["name"] == line.name]
        if own:
            seconds = statistics.median(float(one["seconds"] or 0) for one in own)
            gates, _ = rounds.refused(own)
            lines.append([line.name, f"{_answered(own)} of {len(own)}", f"{seconds:.0f} s", _counts(gates)])
    gates, trials = rounds.refused(kept)
    answered = _answered(kept)
    share = f" ({answered / len(kept):.0%})" if kept else ""
    return f"""
## How often a run ends in a verdict

**{answered} of {plural(len(kept), "run")}{share} ended in a verdict**: a difference, or none within 10 %; a sweep, with all of its curves.
They are by the present method: a quick comparison that settles nothing has more blocks (decision 0002).{earlier}
The runs of a command are far apart in time. The raw rows are in [rounds.csv](workloads/rounds.csv). A trial that fails a
gate is invalid; one that fails several gates counts for each. Of {plural(trials, "trial")}: {_counts(gates) or "none invalid"}.

{table(["", "with a verdict", "median duration", "invalid trials by gate"], lines)}
"""


def _answered(rows: list[dict[str, str]]) -> int:
    return sum(one["ended"] == rounds.VERDICT for one in rows)


def _counts(gates: Counter[str]) -> str:
    return ", ".join(f"{gate} {count}" for gate, count in gates.most_common())


def _row(name: str, workload: str, one: dict) -> list[str]:
    asked, verdict = one["asked"], one["answer"]
    valid = sum(variant["valid"] for variant in verdict["variants"])
    trials = valid + sum(variant["invalid"] for variant in verdict["variants"])
    minutes, seconds = divmod(round(asked["seconds"]), 60)
    duration = f"{minutes} m {seconds:02} s" if minutes else f"{seconds} s"
    sentence = verdict["sentence"].replace("|", "\\|").replace("#", "\\#")
    if _is_earlier_quick(asked["command"], verdict.get("metric", "")):
        sentence += " (before 2026-11-29, when `--quick` searched for a capacity)"
    link = f"[{name}](workloads/{name}.md)"
    return [link, f"`{workload}`", f"`{asked['command']}`", sentence, f"{valid} of {trials}", duration, asked["date"]]


def _is_earlier_quick(command: str, metric: str) -> bool:
    """Whether the same command measures something else today. A capacity that is asked for by name is measured in a quick run, too."""
    return "--quick" in command and "--measure" not in command and metric.startswith("capacity")
