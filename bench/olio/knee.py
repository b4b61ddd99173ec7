"""The knee of an implementation: the most users with whom its trials still pass. A sweep around the users that its CPU time leaves
room for, and what `explain` names at the knee."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path

from shared.showdown import NoAnswer, ask

from .compared import PARTS, rounded

SHARES = (0.25, 0.5, 0.7, 0.85, 1.0, 1.2)
"""Points of the sweep, as shares of the users whose operations take one core."""
MOST_USERS = 10_000


def points(users_per_core: float) -> list[int]:
    """Users of the points, ascending, each once."""
    return sorted({min(max(round(share * users_per_core), 25), MOST_USERS) for share in SHARES})


def measure(showdown: Path, server: str, users_per_core: float | None, options: list[str]) -> list[dict[str, object]]:
    """A row for each point. That of the knee says what limits the server there."""
    with tempfile.TemporaryDirectory() as directory:
        users_per_core = users_per_core or _users_per_core(showdown, server, Path(directory) / "first", options)
        rows = _sweep(showdown, server, points(users_per_core), Path(directory) / "sweep", options)
        last = knee(rows)
        if last is not None:
            arguments = ["explain", server, "--users", str(last["users"]), "--quick", "--yes", "--format", "json", "--progress", "none"]
            last["limited_by"] = json.loads(_ask(showdown, arguments, Path(directory) / "explain"))["servers"][0]["sentence"]
    return rows


def knee(rows: list[dict[str, object]]) -> dict[str, object] | None:
    """The last point before the first one that does not pass; none if no point passes."""
    last = None
    for row in sorted(rows, key=lambda row: int(row["users"])):
        if row["passes"] != "yes":
            break
        last = row
    return last


def _users_per_core(showdown: Path, server: str, directory: Path, options: list[str]) -> float:
    [row] = _sweep(showdown, server, [100], directory, options)
    if not row["users_per_core"]:
        raise NoAnswer(f"{server}: no valid trial with 100 users: {row['reasons']}")
    return float(row["users_per_core"])


def _sweep(showdown: Path, server: str, users: list[int], directory: Path, options: list[str]) -> list[dict[str, object]]:
    vary = f"users={','.join(map(str, users))}"
    arguments = ["sweep", server, "--vary", vary, "--quick", *options, "--measure", "cpu", "--format", "json", "--progress", "none"]
    answer = json.loads(_ask(showdown, arguments, directory))
    trials = [json.loads(path.read_text()) for path in sorted(directory.rglob("trial.json"))]
    return [row(variant, answer, [trial for trial in trials if trial.get("point") == variant.get("point")]) for variant in answer["variants"]]


def row(variant: dict, answer: dict, trials: list[dict]) -> dict[str, object]:
    """A point of the sweep: whether its trials count, the mix and the cycles of its users, and CPU time by part."""
    parts = {part["part"]: part for part in variant.get("parts", [])}
    walks = Counter(gate["outcome"] for trial in trials for gate in trial.get("gates", []) if gate["id"] == "users")
    reasons = Counter(reason.split(":")[0] for trial in trials for reason in trial.get("reasons", []))
    return {
        "server": variant["name"],
        "machine": answer.get("machine", ""),
        "users": variant["point"]["users"],
        "passes": "yes" if variant["valid"] > variant["invalid"] and not walks["failed"] else "no",
        "valid": variant["valid"],
        "invalid": variant["invalid"],
        "mix_and_cycles": _counted(walks),
        "reasons": _counted(reasons),
        "cpu_us": rounded(variant["median"], 1),
        "users_per_core": rounded(variant.get("users_per_core"), 0),
        **{f"{name}_us": rounded(parts[name].get("cpu_us"), 1) if name in parts else "" for name in PARTS},
        "cores": rounded(sum(part["cores"] for part in parts.values()), 2),
        "limited_by": "",
    }


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))


def _ask(showdown: Path, arguments: list[str], directory: Path) -> str:
    directory.mkdir()
    return ask(showdown.resolve(), arguments, directory)
