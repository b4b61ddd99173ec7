"""One case: a run, a fault at a moment, and what it left behind; then the next start."""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
import subprocess
import time
from pathlib import Path

from . import plans
from .faults import FAULTS, SECOND, Running, message_of, wrong_message
from .sandbox import Sandbox

COLUMNS = [
    "server",
    "fault",
    "moment",
    "at_s",
    "exit",
    "message",
    "processes_left",
    "settings_changed",
    "files_lost",
    "scratch_left",
    "unreadable",
    "wrong_message",
    "next_start",
    "seconds",
]
CHECKS = ["processes_left", "settings_changed", "files_lost", "scratch_left", "unreadable", "wrong_message", "next_start"]
"""Columns that are empty where all is well."""
PATIENCE_S = 300
EARLIER = 0.7
"""Factor of the moment after an attempt in which the run had ended before it."""


def share_of(seed: int, server: str, fault: str, moment: int) -> float:
    """When the fault happens, as a share of an undisturbed run: a random number that the seed determines."""
    return random.Random(f"{seed} {server} {fault} {moment}").uniform(0.02, 0.98)


def undisturbed_s(server: str, showdown: Path, work: Path) -> float:
    """The duration of a run without a fault."""
    with _Place(work / "undisturbed", showdown) as sandbox:
        plans.write(server, sandbox)
        began = time.monotonic()
        code, log = sandbox.ask(["run", "plan.toml", "--progress", "none"])
        if code not in (0, 3):
            raise RuntimeError(f"a run of {server} without a fault ends with {code}: {log.strip()}")
        return time.monotonic() - began


def run(server: str, fault_name: str, moment: int, at_s: float, showdown: Path, work: Path) -> dict[str, object]:
    """Runs the case; returns its row. Where the run has ended before its moment, the moment comes earlier: on a machine in
    use, runs differ in duration."""
    while (row := _run_at(server, fault_name, moment, at_s, showdown, work)) is None:
        at_s *= EARLIER
    return row


def _run_at(server: str, fault_name: str, moment: int, at_s: float, showdown: Path, work: Path) -> dict[str, object] | None:
    """One attempt; None if the run ended before the fault."""
    fault = FAULTS[fault_name]
    before = plans.setting()
    began = time.monotonic()
    with _Place(work / f"{server}-{fault_name}-{moment}", showdown) as sandbox:
        plans.write(server, sandbox)
        log = sandbox.home / "log"
        process = sandbox.start(["run", "plan.toml", "--progress", "none"], log, fault.environment(sandbox))
        fault.prepare(sandbox, process)
        running = Running(sandbox, process)
        try:
            process.wait(at_s)
        except subprocess.TimeoutExpired:
            pass
        complete = _complete_trials(sandbox)
        has_ended = process.poll() is not None
        is_made = not has_ended and fault.inject(running)
        code = _wait(process)
        if not is_made:
            fault.repair(sandbox)
            return None
        processes = sandbox.settle()
        changed = _changed(before)
        lost = _lost(complete, sandbox)
        text = log.read_text(errors="replace")
        wrong = wrong_message(fault, code, text)
        if running.second is not None:
            wrong = wrong or _wrong_second(*running.second)
        unreadable = _unreadable(sandbox)
        fault.repair(sandbox)
        next_start = _next_start(sandbox, code)
        processes += sandbox.settle()
        changed = changed or _changed(before)
        return {
            "server": server,
            "fault": fault_name,
            "moment": moment,
            "at_s": f"{at_s:.2f}",
            "exit": code,
            "message": _one_line(message_of(running.second[1] if running.second else text), sandbox),
            "processes_left": "; ".join(processes),
            "settings_changed": changed,
            "files_lost": "; ".join(lost),
            "scratch_left": "; ".join(sandbox.scratch()),
            "unreadable": _one_line(unreadable, sandbox),
            "wrong_message": _one_line(wrong, sandbox),
            "next_start": _one_line(next_start, sandbox),
            "seconds": f"{time.monotonic() - began:.1f}",
        }


class _Place:
    """A sandbox in a fresh directory, which is removed afterwards."""

    def __init__(self, home: Path, showdown: Path):
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        self._home, self._showdown = home, showdown

    def __enter__(self) -> Sandbox:
        self._sandbox = Sandbox(self._home, self._showdown)
        return self._sandbox

    def __exit__(self, *_: object) -> None:
        self._sandbox.close()
        shutil.rmtree(self._home, ignore_errors=True)


def _wait(process: subprocess.Popen) -> int:
    try:
        return process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return 999


def _runs(sandbox: Sandbox) -> list[Path]:
    return sorted(path.parent for path in sandbox.inside(sandbox.disks["runs"]).glob("2*/plan.toml"))


def _complete_trials(sandbox: Sandbox) -> dict[str, str]:
    """The files of the trials that have ended, with their digests."""
    files: dict[str, str] = {}
    for run_directory in _runs(sandbox):
        for record in run_directory.glob("trials/*/trial.json"):
            for path in record.parent.rglob("*"):
                if path.is_file():
                    files[str(path.relative_to(run_directory))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return files


def _lost(before: dict[str, str], sandbox: Sandbox) -> list[str]:
    """The files that are gone, changed, or not readable."""
    after = _complete_trials(sandbox)
    lost = [name for name, digest in before.items() if after.get(name) != digest]
    for run_directory in _runs(sandbox):
        for record in run_directory.glob("trials/*/trial.json"):
            try:
                json.loads(record.read_bytes())
            except ValueError:
                lost.append(f"{record.relative_to(run_directory)} is not JSON")
    return lost


def _changed(before: str) -> str:
    """Waits for the old value of the setting; says which value it keeps instead."""
    deadline = time.monotonic() + 10
    while (now := plans.setting()) != before:
        if time.monotonic() > deadline:
            return f"{plans.SETTING} is {now}, not {before}"
        time.sleep(0.02)
    return ""


def _wrong_second(code: int, log: str) -> str:
    message = message_of(log)
    return "" if code == 1 and re.search(SECOND, message) else f"the second showdown: exit code {code}: {message}"


def _unreadable(sandbox: Sandbox) -> str:
    """What `list` and `show` cannot read of the run, and whether they say how to go on with one that was cut off."""
    listed, text = sandbox.ask(["list"])
    if listed != 0 or "panicked" in text:
        return f"list: exit code {listed}: {text}"
    if not _runs(sandbox):
        return ""
    shown, text = sandbox.ask(["show", "latest"])
    if shown != 0 or "panicked" in text:
        return f"show: exit code {shown}: {text}"
    is_told = _is_complete(sandbox) or "showdown resume" in text
    return "" if is_told else f"show does not say how to resume the run: {text}"


def _is_complete(sandbox: Sandbox) -> bool:
    """Whether a run has a verdict over all of its blocks."""
    verdicts = [run_directory / "verdict.json" for run_directory in _runs(sandbox)]
    return any(path.exists() and json.loads(path.read_bytes())["complete"] for path in verdicts)


def _next_start(sandbox: Sandbox, code: int) -> str:
    """Resumes a run that was cut off, or begins another if there is none. Returns what is wrong with that."""
    if code in (0, 3):
        return ""
    arguments = ["resume", "latest"] if _runs(sandbox) else ["run", "plan.toml"]
    resumed, log = sandbox.ask([*arguments, "--progress", "none"])
    is_finished = resumed == 2 and "nothing is left to resume" in log
    if resumed not in (0, 3) and not is_finished:
        return f"{' '.join(arguments)}: exit code {resumed}: {message_of(log) or log}"
    return "" if _is_complete(sandbox) else "no complete verdict"


def _one_line(text: str, sandbox: Sandbox) -> str:
    return " ".join(text.split()).replace(f"{sandbox.home}/", "")
