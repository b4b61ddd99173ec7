"""What one line was answered: kept as the run's own verdict and its report in Markdown, beside how it came about."""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path

from shared import showdown

from .lines import Line


def path(answers: Path, line: Line) -> Path:
    """Where its answer lies."""
    return answers / f"{line.name}.json"


def ask(line: Line, command: list[str], showdown: Path, work: Path, facts: dict[str, str], answers: Path) -> None:
    """Runs the line's command once and writes its answer and its report."""
    work.mkdir(parents=True, exist_ok=True)

    def ask_here(*arguments: str) -> str:
        # Where the binary lies is nobody else's path.
        return binary.ask(showdown, list(arguments), work).replace(str(showdown), showdown.name)

    began = time.monotonic()
    said = json.loads(ask_here(*command[1:], "--format", "json", "--progress", "none"))
    seconds = time.monotonic() - began
    report = ask_here("report", "latest", "--format", "md")
    answers.mkdir(parents=True, exist_ok=True)
    path(answers, line).with_suffix(".md").write_text(_report(line, command, facts, report))
    told = {"command": shlex.join(command), "seconds": round(seconds, 1), **facts}
    path(answers, line).write_text(json.dumps({"asked": told, "answer": said}, indent=1, ensure_ascii=False) + "\n")


def _report(line: Line, command: list[str], facts: dict[str, str], text: str) -> str:
    return f"# `{shlex.join(command)}`\n\nThe workload `{line.workload}`, {facts['date']}, {facts['engine']}.\n\n{text}"
