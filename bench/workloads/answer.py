"""What one line was answered: kept as the run's own verdict and its report in Markdown, beside how it came about."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from pathlib import Path

from .lines import Line

NO_VERDICT = 3
"""Exit code of a run whose measurements do not count."""


class NoAnswer(Exception):
    """The line failed: its words."""


def path(answers: Path, line: Line) -> Path:
    """Where its answer lies."""
    return answers / f"{line.name}.json"


def ask(line: Line, length: str, showdown: Path, work: Path, facts: dict[str, str], answers: Path) -> None:
    """Runs it once and writes its answer and its report."""
    work.mkdir(parents=True, exist_ok=True)
    command = line.argv(length)
    began = time.monotonic()
    ran = _run([*command, "--format", "json", "--progress", "none"], work, showdown)
    seconds = time.monotonic() - began
    if ran.returncode not in (0, NO_VERDICT):
        raise NoAnswer(f"{shlex.join(command)}: {ran.stderr.strip() or ran.returncode}")
    report = _run(["showdown", "report", "latest", "--format", "md"], work, showdown)
    if report.returncode:
        raise NoAnswer(f"no report: {report.stderr.strip()}")
    answers.mkdir(parents=True, exist_ok=True)
    path(answers, line).with_suffix(".md").write_text(_report(line, command, facts, report.stdout))
    said = json.loads(ran.stdout)
    told = {"command": shlex.join(command), "length": length, "seconds": round(seconds, 1), **facts}
    path(answers, line).write_text(json.dumps({"asked": told, "answer": said}, indent=1, ensure_ascii=False) + "\n")


def _report(line: Line, command: list[str], facts: dict[str, str], text: str) -> str:
    return f"# `{shlex.join(command)}`\n\nThe workload `{line.workload}`, {facts['date']}, {facts['engine']}.\n\n{text}"


def _run(argv: list[str], directory: Path, showdown: Path) -> subprocess.CompletedProcess:
    """Called by its name and where the runs lie, so that the report's command is one that anybody can type; where the
    binary lies is nobody else's path."""
    environment = os.environ | {"PATH": f"{showdown.parent}{os.pathsep}{os.environ['PATH']}"}
    ran = subprocess.run(argv, cwd=directory, env=environment, capture_output=True, text=True)
    ran.stdout = ran.stdout.replace(str(showdown), showdown.name)
    return ran
