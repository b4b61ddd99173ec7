"""One machine under two names: c1 and c3 share a CPU of the lab, and c2, which has the other one, loads their servers in turns."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

from shared.store import Row

from .lab import Lab
from .measures import VALID_OR_NOT, Programs, row

OPTIONS = ("--quick", "--measure", "throughput", "--blocks", "8", "--on-op", "get-1k", "-c", "2")
"""Two connections: with more, a client of one CPU is the limit."""
DIFFERENCE = "difference"


def compare(programs: Programs, work: Path, number: int) -> list[Row]:
    """Compares once; the row has the verdict, the ratio with its interval, and how many trials were valid."""
    with Lab(work / "lab", 3) as lab:
        argv = [str(programs.showdown), "compare", "nginx@c1", "nginx@c3", "--clients", "c2", "--hosts", lab.hosts_file, *OPTIONS]
        argv += ["--seed", str(number), "--runs", str(lab.directory / "runs"), "--format", "json", "--progress", "none"]
        began = time.monotonic()
        answer = json.loads(lab.run(argv, allowed=VALID_OR_NOT))
        seconds = time.monotonic() - began
        trials = [json.loads(path.read_text()) for path in lab.directory.glob("runs/2*/trials/*/trial.json")]
    return [of_answer(answer, trials, seconds)]


def of_answer(answer: dict, trials: list[dict], seconds: float) -> Row:
    """The row of an answer, with the gates that made some of its trials invalid."""
    [comparison] = answer["comparisons"]
    values = [value for variant in answer["variants"] for value in variant["values"]]
    valid = sum(value["valid"] for value in values)
    estimate = comparison["estimate"]
    ratio = f"{estimate['ratio']:.4f} ({estimate['low']:.4f} to {estimate['high']:.4f})" if estimate else "no ratio"
    failed = Counter(gate["id"] for trial in trials for gate in trial["gates"] if gate["outcome"] == "failed")
    why = "".join(f", {count} invalid by {gate}" for gate, count in failed.most_common())
    return row("verdict", "", comparison["verdict"]["outcome"], f"{ratio}, {valid} of {len(values)} trials valid, {seconds:.0f} s{why}")
