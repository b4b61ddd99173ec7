"""One case: a rollout with users, a fault at a moment of it, and what the balancer sends to the candidate from then on."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import time
from pathlib import Path

from .bed import ADDED, PATIENCE_S, Bed, Look, require
from .faults import FAULTS, Fault
from .program import BY

COLUMNS = ["fault", "repeat", "step", "at_s", "out_s", "after", "left", "exit", "message", "users", "failed", "candidate", "seconds", *BY]
NO_ANSWER = "no answer: "
LEAST_OUT_S = 1.0
"""Counters are read each second: a shorter time is that of a second's requests."""
GUESS_S = 40.0
"""Seconds of a case."""
RATE = 800
"""Requests a second of the users."""
USERS_S = 300
STEPS = [16, 64]
DWELL = "20s"
LONGEST_MOMENT_S = 12.0
"""A fault happens within this time of the beginning of its step."""
STEP_S = 180.0
"""How long the beginning of a step is awaited."""
SETTLE_S = 20.0
"""After the end of a run, the process of its lease may wait for sessions before it removes the servers."""


def moment_of(seed: int, fault: str, repeat: int) -> float:
    """When the fault happens, in seconds after the beginning of its step: a random number that the seed determines."""
    return random.Random(f"{seed} {fault} {repeat}").uniform(1.0, LONGEST_MOMENT_S)


def step_of(fault: Fault, repeat: int) -> int:
    """The step of a fault, by its weight: the first one, or each in turn."""
    return STEPS[(repeat - 1) % len(STEPS)] if fault.in_each_step else STEPS[0]


def run(fault_name: str, repeat: int, seed: int, showdown: Path, work: Path) -> dict[str, object]:
    """Runs the case; returns its row."""
    fault = FAULTS[fault_name]
    directory = work / f"{fault_name}-{repeat}"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    began = time.monotonic()
    with Bed(showdown, directory, {"candidate": fault.planted}, has_health=fault.has_health) as bed:
        bed.users(RATE, USERS_S)
        plan = bed.plan(dwell=DWELL, steps=STEPS)
        process = start(showdown, plan, directory)
        bed.processes["run"] = process
        step = step_of(fault, repeat)
        first = bed.await_look(lambda look: look.takes and look.weight >= step, STEP_S)
        require(first, f"the candidate does not get weight {step}: {(directory / 'run.log').read_text().strip()[-500:]}")
        at_s = 0.0
        fault_at = first.at_s
        if fault.inject is not None:
            at_s = moment_of(seed, fault_name, repeat)
            time.sleep(max(0.0, first.at_s + at_s - time.monotonic()))
            fault_at = time.monotonic()
            fault.inject(bed, process)
        out = bed.await_look(lambda look: not look.takes, PATIENCE_S * 2)
        time.sleep(3)
        if fault.repair is not None:
            fault.repair(bed, process)
        try:
            code = process.wait(PATIENCE_S * 2)
        except subprocess.TimeoutExpired:
            code = 999
        left = servers_left(bed)
        operations, failed = bed.failed()
        looks = bed.looks
    row = {
        "fault": fault_name,
        "repeat": repeat,
        "step": step,
        "at_s": f"{at_s:.1f}",
        "out_s": f"{out.at_s - fault_at:.2f}" if out else "",
        "after": requests_after(looks, out.at_s) if out else "",
        "left": left,
        "exit": code,
        "message": message(directory, answer(directory)),
        "users": operations,
        "failed": failed,
        "candidate": max((look.requests for look in looks), default=0),
        "seconds": f"{time.monotonic() - began:.0f}",
    }
    shutil.rmtree(directory, ignore_errors=True)
    return row


def requests_after(looks: list[Look], out_s: float) -> int:
    """Requests that the balancer has sent to the candidate after it was seen to take nothing. Those that were on their way are not
    counted: the first look after that moment is the beginning."""
    later = [look.requests for look in looks if look.at_s > out_s and look.status]
    return later[-1] - later[0] if later else 0


def start(showdown: Path, plan: Path, directory: Path, *options: str) -> subprocess.Popen:
    """Starts a run."""
    argv = [str(showdown), "shift", str(plan), "--yes", "--runs", str(directory / "runs"), *options]
    with (directory / "run.log").open("w") as log:
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)


def servers_left(bed: Bed) -> str:
    """The servers of the run that the balancer still has, with their state, after the lease had time to remove them."""
    end = time.monotonic() + SETTLE_S
    found: list[str] = []
    while time.monotonic() < end:
        try:
            rows = [row.split(",") for row in bed.ask("show stat").splitlines()]
        except OSError:
            return ""
        found = [f"{row[1]} {row[17]} {row[18]}" for row in rows if row[0] == "web" and row[1] in ADDED]
        if not found:
            return ""
        time.sleep(1)
    return "; ".join(found)


def message(directory: Path, answer_of: dict[str, object]) -> str:
    """The answer of the run. Without one: the last line that it has printed, behind NO_ANSWER."""
    if "answer" in answer_of:
        return str(answer_of["answer"])
    lines = (directory / "run.log").read_text(errors="replace").split("\n")
    return NO_ANSWER + next((line.strip()[-300:] for line in reversed(lines) if line.strip()), "")


def answer(directory: Path) -> dict[str, object]:
    """The answer of the run. Empty where the run was killed."""
    for path in directory.glob("runs/shift/*/answer.json"):
        found = json.loads(path.read_text())
        return found | {"answer": " ".join(found["answer"].split())}
    return {}
