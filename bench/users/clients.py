"""The command line of each client for the same users, and what its output says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from shared.errors import BadRun
from shared.showdown import ENGINE, load_answer

from . import scenario

LOCUST, K6 = "locust", "k6"
WALK_RULES = ("mix", "delay", "drawn_delay", "littles_law", "operation_limit")
"""Rules without which the users were others. That the client was busy is what is measured."""
RAMP_S = 5
"""Users join within one mean cycle."""
WARM_UP_S = 5 * RAMP_S
"""All begin at the same page: after some cycles the walk has forgotten that."""


@dataclass(frozen=True)
class Task:
    """The work of a client."""

    users: int
    seconds: int
    port: int
    directory: Path
    binaries: dict[str, str]


@dataclass(frozen=True)
class Figures:
    """What a client says of its run."""

    requests: int
    spinning: float = 0.0
    """Share of its CPU time in which it only waited, where it says so."""


@dataclass(frozen=True)
class Client:
    """A program, and how its output is parsed."""

    name: str
    argv: Callable[[Task], list[str]]
    figures: Callable[[str], Figures]
    """Raises BadRun on errors."""
    environment: Callable[[Task], dict[str, str]] = lambda task: {}
    users: tuple[int, ...] = (500,)
    """The numbers of users that it is measured with."""


def _engine(task: Task) -> list[str]:
    path = scenario.engine(task.directory / "scenario.toml", task.users)
    return [task.binaries[ENGINE], "load", f"http://127.0.0.1:{task.port}", "--scenario", str(path), "-t", "1",
            "--warmup", f"{WARM_UP_S}s", "-d", f"{task.seconds}s", "--seed", "1", "--format", "json", "--progress", "none"]  # fmt: skip


def _engine_figures(output: str) -> Figures:
    answer = load_answer(output)
    broken = [rule for rule in answer["rules_broken"] if rule["rule"] in WALK_RULES]
    if broken:
        raise BadRun(f"rules of users: {broken}")
    steps, client = answer["requests"] * scenario.REQUESTS, answer["client"]
    # Of the measured part; it spins in the warm-up as well.
    return Figures(steps, client["spin_cpu_s"] / max(client["user_cpu_s"] + client["system_cpu_s"], 1e-9))


def _locust(task: Task) -> list[str]:
    path = task.directory / "locustfile.py"
    path.write_text(scenario.LOCUST)
    return [task.binaries[LOCUST], "-f", str(path), "--headless", "-u", str(task.users), "-r", str(task.users // RAMP_S),
            "-t", f"{task.seconds + WARM_UP_S}s", "-H", f"http://127.0.0.1:{task.port}", "--json"]  # fmt: skip


def _locust_figures(output: str) -> Figures:
    rows = json.loads(output[output.index("[\n") if "[\n" in output else output.index("[{") : output.rindex("]") + 1])
    failed = sum(row["num_failures"] for row in rows)
    if failed:
        raise BadRun(f"{failed} failures")
    return Figures(sum(row["num_requests"] for row in rows))


def _k6(task: Task) -> list[str]:
    path = task.directory / "scenario.js"
    path.write_text(scenario.K6)
    return [task.binaries[K6], "run", "--quiet", "--no-usage-report", str(path)]


def _k6_figures(output: str) -> Figures:
    failed = re.search(r"http_req_failed\.*: ([\d.]+)%", output)
    if failed and float(failed[1]) > 0:
        raise BadRun(f"failures: {failed[0]}")
    count = re.search(r"http_reqs\.*: (\d+)", output)
    if not count:
        raise BadRun(f"no count in the output: {output[-300:]}")
    return Figures(int(count[1]))


CLIENTS = [
    Client(ENGINE, _engine, _engine_figures, users=(500, 10_000)),
    Client(LOCUST, _locust, _locust_figures),
    Client(K6, _k6, _k6_figures,
           lambda task: {"USERS": str(task.users), "LENGTH": f"{task.seconds + WARM_UP_S}s", "BASE": f"http://127.0.0.1:{task.port}",
                         "GOMAXPROCS": "1"}),
]  # fmt: skip

