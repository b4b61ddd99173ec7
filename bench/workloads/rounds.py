"""How each run of a command ended, one row a run: with a verdict or without, and which gates refused how many trials."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from shared.store import Row, Store

ROUNDS = "rounds"
"""The table."""
COLUMNS = ["name", "round", "command", "date", "engine", "CPU", "kernel", "seconds", "ended", "sentence", "valid", "trials", "refused"]
PRESENT = "commit c94a28300d"
"""The first engine of the present method. Rows are in order of time."""
NO_ANSWER = "no answer"
INCONCLUSIVE = "inconclusive"
VERDICT = "verdict"


def store(answers: Path) -> Store:
    """The rows of all rounds, in the folder of the verdicts."""
    return Store(answers, {ROUNDS: COLUMNS}, ("name", "round"))


def row(name: str, number: int, asked: dict, verdict: dict, run: Path) -> Row:
    """The row of a run that has ended with this verdict in this run directory."""
    valid = sum(variant["valid"] for variant in verdict["variants"])
    trials = valid + sum(variant["invalid"] for variant in verdict["variants"])
    refused = " ".join(f"{gate}={count}" for gate, count in sorted(_refused(run).items()))
    here = {key: asked[key] for key in ("date", "engine", "CPU", "kernel", "seconds")}
    sentence = verdict["sentence"]
    return {"name": name, "round": number, "command": asked["command"], **here, "ended": ended(verdict), "sentence": sentence, "valid": valid, "trials": trials, "refused": refused}  # fmt: skip


def unanswered(name: str, number: int, command: str, facts: dict[str, str], why: str) -> Row:
    """The row of a command that failed."""
    here = {key: facts[key] for key in ("date", "engine", "CPU", "kernel")}
    empty = dict.fromkeys(("seconds", "valid", "trials", "refused"), "")
    return {"name": name, "round": number, "command": command, **here, **empty, "ended": NO_ANSWER, "sentence": why}


def ended(verdict: dict) -> str:
    """Whether a run has answered its question: each pair differs or does not within 10 %; each variant of a sweep has its curve."""
    if not verdict["complete"]:
        return INCONCLUSIVE
    if curves := verdict.get("curves"):
        without_curve = {variant["name"] for variant in verdict["variants"]} - {curve["variant"] for curve in curves}
        return INCONCLUSIVE if without_curve or "inconclusive" in verdict["sentence"] else VERDICT
    pairs = [pair["verdict"]["outcome"] for pair in verdict["comparisons"]]
    return INCONCLUSIVE if INCONCLUSIVE in pairs or not pairs else VERDICT


def by_method(rows: list[dict[str, str]]) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """The rows before the present method, and those of it."""
    first = next((place for place, one in enumerate(rows) if one["engine"].startswith(PRESENT)), len(rows))
    return rows[:first], rows[first:]


def refused(rows: list[dict[str, str]]) -> tuple[Counter[str], int]:
    """How many trials each gate refused in these rows, and of how many."""
    count: Counter[str] = Counter()
    for one in rows:
        for gate, number in (entry.split("=") for entry in one["refused"].split()):
            count[gate] += int(number)
    return count, sum(int(one["trials"] or 0) for one in rows)


def _refused(run: Path) -> Counter[str]:
    """The gates that failed in the invalid trials of a run; a trial may have failed several."""
    trials = [json.loads(path.read_text()) for path in sorted(run.glob("trials/*/trial.json"))]
    gates = (gate for trial in trials if trial["status"] == "invalid" for gate in trial["gates"])
    return Counter(gate["id"] for gate in gates if gate["outcome"] == "failed")
