"""Cases of two servers of which one has a function more: a planted share of the CPU time of each operation, or none.

The function is `planted_work` of plant.c. What an explanation of two servers says of it is the outcome.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from pathlib import Path

from shared import processes
from shared.whole_run import REPOSITORY

from .case import check_alone, costs

WORKLOAD, SERVER = "cache", "memcached"
LOAD = ("--on-op", "get", "--connections", "1")
"""With one connection, each operation wakes client and server once. With many, a server that is slower lets the client sleep more often, and
waking it is a difference, too."""
CALIBRATION = 200
"""Turns of planted work of which the time is measured first."""
PLANTED = "planted"
"""The name of the second server."""
FUNCTION = "planted_work"
SHARES = {"equal": 0.0, "three-percent": 0.03}
"""The cases, with the share of the CPU time of an operation that is planted."""
LARGE = 0.01
"""A difference of this share of the CPU time of an operation is large."""


def run(name: str, number: int, showdown: Path, library: Path, work: Path) -> dict[str, object]:
    """Asks for the difference of the two servers; returns the row."""
    share = SHARES[name]
    turns = 0
    if share > 0.0:
        known = work / "share-of-a-turn"
        if not known.exists():
            answer = _ask("calibration", CALIBRATION, showdown, library, work).stdout
            known.write_text(str(share_of_a_turn(json.loads(answer)["difference"])))
        turns = round(share / float(known.read_text()))
    began = time.monotonic()
    ran = _ask(f"{name}-{number}", turns, showdown, library, work)
    check_alone(ran.stderr)
    row = {"cause": name, "round": number, "seconds": f"{time.monotonic() - began:.0f}", "exit": ran.returncode}
    return row | outcome(share, ran.stdout, ran.stderr)


def share_of_a_turn(difference: dict) -> float:
    """The share of an operation's CPU time that a turn takes, by a profile: on a core that server and client share, it takes longer
    than alone."""
    planted = next(frame for frame in difference["frames"] if frame["frame"] == FUNCTION)
    return planted["b_us"] / CALIBRATION / difference["a_cpu_us"]


def _ask(name: str, turns: int, showdown: Path, library: Path, work: Path) -> subprocess.CompletedProcess[str]:
    """Profiles both servers, of which the second one takes this number of turns in each operation."""
    home = work / name
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    folder = home / "workload"
    shutil.copytree(REPOSITORY / "workloads" / WORKLOAD, folder)
    definition = folder / "workload.toml"
    definition.write_text(with_second(definition.read_text(), library, turns))
    plan = home / "plan.toml"
    asked = [str(showdown), "plan", "explain", SERVER, PLANTED, "--workload", str(definition), *LOAD]
    plan.write_text(without_experiments(subprocess.run(asked, cwd=home, capture_output=True, text=True, check=True).stdout))
    asked = [str(showdown), "run", str(plan), "--yes", "--format", "json", "--progress", "none", "--runs", str(home / "runs")]
    return processes.ask(asked, home)


def without_experiments(plan: str) -> str:
    """The plan of a study that profiles, and tries nothing: what limits the servers is another case."""
    return re.sub(r"(?m)^experiments = .*$", "experiments = 0", plan)


def with_second(definition: str, library: Path, iterations: int) -> str:
    """The definition with a second server that is the first with the library; both load it, so that only its work differs."""
    tables = re.split(r"(?m)^(?=\[)", definition)
    own = [table for table in tables if re.match(rf"\[+server\.{SERVER}\b", table)]
    first, second = (_preloaded(own, library, count) for count in (0, iterations))
    others = [table for table in tables if table not in own]
    named = [table.replace(f"server.{SERVER}", f"server.{PLANTED}", 1) for table in second]
    return "".join([others[0], *first, *named, *others[1:]])


def _preloaded(tables: list[str], library: Path, iterations: int) -> list[str]:
    head = f"[server.{SERVER}]\n"
    variables = f'environment = {{ LD_PRELOAD = "{library}", PLANT = "work={iterations}" }}\n'
    return [table.replace(head, head + variables, 1) for table in tables]


def outcome(share: float, answer: str, errors: str) -> dict[str, object]:
    """What the answer says: whether the planted function, and no other large one, differs significantly."""
    try:
        explanation = json.loads(answer)
        difference = explanation["difference"]
        first = explanation["servers"][0]
    except (ValueError, KeyError, IndexError):
        lines = errors.strip().splitlines()
        return {"named": "", "decided": "", "message": lines[-1] if lines else "no answer"}
    significant = [frame for frame in difference["frames"] if frame["is_significant"]]
    large = [frame["frame"] for frame in significant if abs(frame["b_us"] - frame["a_us"]) >= LARGE * difference["a_cpu_us"]]
    others = [name for name in large if name != FUNCTION]
    leads = FUNCTION in large and significant[0]["frame"] == FUNCTION
    is_right = not others and (share == 0.0 or leads)
    return {
        "resource": ", ".join(large),
        "word": f"{len(significant)} significant",
        "named": "yes" if is_right else "",
        "decided": "",
        "sentence": difference["sentence"],
        "throughput_per_s": f"{first['held']['throughput_per_s']:.0f}",
    } | costs(first)
