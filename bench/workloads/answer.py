"""The verdict and the report of one command, kept as JSON and as Markdown with the circumstances of the run."""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path

from shared import showdown as binary
from shared.store import Row

from . import rounds
from .lines import CommandLine


def path(answers: Path, line: CommandLine) -> Path:
    """The file of its verdict."""
    return answers / f"{line.name}.json"


def ask(line: CommandLine, number: int, command: list[str], showdown: Path, work: Path, facts: dict[str, str], answers: Path) -> Row:
    """Runs the command once, writes its verdict and its report, and returns the row of this round."""
    work.mkdir(parents=True, exist_ok=True)

    def run(*arguments: str) -> str:
        # The path of the binary is this machine's own.
        return binary.ask(showdown, list(arguments), work).replace(str(showdown), showdown.name)

    began = time.monotonic()
    answer = json.loads(run(*command[1:], "--format", "json", "--progress", "none"))
    seconds = time.monotonic() - began
    report = run("report", "latest", "--format", "md")
    answers.mkdir(parents=True, exist_ok=True)
    path(answers, line).with_suffix(".md").write_text(_report(line, command, facts, report))
    asked = {"command": shlex.join(command), "seconds": round(seconds, 1), **facts}
    path(answers, line).write_text(json.dumps({"asked": asked, "answer": answer}, indent=1, ensure_ascii=False) + "\n")
    newest = max((work / "runs").glob("[!.]*/"), key=lambda run: run.stat().st_mtime)
    return rounds.row(line.name, number, asked, answer, newest)


def _report(line: CommandLine, command: list[str], facts: dict[str, str], text: str) -> str:
    return f"# `{shlex.join(command)}`\n\nThe workload `{line.workload}`, {facts['date']}, {facts['engine']}.\n\n{text}"
