"""From the answers to docs/results/workloads.md."""

from __future__ import annotations

import json
from pathlib import Path

from shared.markdown import table

from . import answer
from .lines import LINES


def write(answers: Path, target: Path) -> Path:
    """The page of all lines that have an answer."""
    answered = [line for line in LINES if answer.path(answers, line).exists()]
    found = [(line, json.loads(answer.path(answers, line).read_text())) for line in answered]
    rows = [_row(line.name, line.workload, one) for line, one in found]
    machines = sorted({(one["asked"]["CPU"], one["asked"]["CPUs"], one["asked"]["kernel"]) for _, one in found})
    target.write_text(f"""# The workloads, run for real

Written by `make bench-workloads`: {len(rows)} lines of {len(LINES)}, each a question as a user would ask it, its answer and how many
of its trials counted. A name leads to the report, in which every trial is; beside it lies the verdict as JSON. Client and
servers share the machine ({"; ".join(f"{cpu}, CPUs: {cpus}, {kernel}" for cpu, cpus, kernel in machines)}), so that these are examples
and no ranking. Where trials do not count, the report says why: on two CPUs the client has one, and is often the limit.

{table(["", "workload", "asked", "answered", "valid trials", "took", "on"], rows)}
""")
    return target


def _row(name: str, workload: str, one: dict) -> list[str]:
    asked, said = one["asked"], one["answer"]
    valid = sum(variant["valid"] for variant in said["variants"])
    trials = valid + sum(variant["invalid"] for variant in said["variants"])
    minutes, seconds = divmod(round(asked["seconds"]), 60)
    took = f"{minutes} m {seconds:02} s" if minutes else f"{seconds} s"
    sentence = said["sentence"].replace("|", "\\|").replace("#", "\\#")
    link = f"[{name}](workloads/{name}.md)"
    return [link, f"`{workload}`", f"`{asked['command']}`", sentence, f"{valid} of {trials}", took, asked["date"]]
