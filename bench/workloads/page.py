"""Verdicts to Markdown: docs/results/workloads.md."""

from __future__ import annotations

import json
from pathlib import Path

from shared.markdown import plural, table

from . import answer
from .lines import LINES


def write(answers: Path, target: Path) -> Path:
    """The page of all commands that have a verdict."""
    answered = [line for line in LINES if answer.path(answers, line).exists()]
    found = [(line, json.loads(answer.path(answers, line).read_text())) for line in answered]
    rows = [_row(line.name, line.workload, one) for line, one in found]
    machines = sorted({(one["asked"]["CPU"], one["asked"]["CPUs"], one["asked"]["kernel"]) for _, one in found})
    target.write_text(f"""# The workloads, run for real

{len(rows)} of {plural(len(LINES), "command")}, run by `make bench-workloads`. Each row has a command, its verdict and the number of its valid trials.
A name links to the report with every trial. Beside the report is the verdict as JSON.

- Client and servers share one machine: {"; ".join(f"{cpu}, CPUs: {cpus}, {kernel}" for cpu, cpus, kernel in machines)}.
  The rows are examples and not a ranking.
- The report has the reason of each trial that is not valid. Of two CPUs the client has one, and is often the limit.

{table(["", "workload", "command", "verdict", "valid trials", "duration", "date"], rows)}
""")
    return target


def _row(name: str, workload: str, one: dict) -> list[str]:
    asked, verdict = one["asked"], one["answer"]
    valid = sum(variant["valid"] for variant in verdict["variants"])
    trials = valid + sum(variant["invalid"] for variant in verdict["variants"])
    minutes, seconds = divmod(round(asked["seconds"]), 60)
    duration = f"{minutes} m {seconds:02} s" if minutes else f"{seconds} s"
    sentence = verdict["sentence"].replace("|", "\\|").replace("#", "\\#")
    link = f"[{name}](workloads/{name}.md)"
    return [link, f"`{workload}`", f"`{asked['command']}`", sentence, f"{valid} of {trials}", duration, asked["date"]]
