"""Each model of users: as the engine has it, and as a simulation of the same users in front of the same server.

The server of the first three serves one request at a time, in the order of arrival; its service times vary much. All three have the same load. Schroeder,
Wierman and Harchol-Balter (Open Versus Closed: A Cautionary Tale, NSDI 2006) found that response times then differ: an open loop has the longest, a closed loop
the shortest, and a partly open one lies between. The server of the last one answers at once, but freezes.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass

SHORT_S, LONG_S, LONG_SHARE = 0.001, 0.050, 0.05
LOAD_PER_S = 232.0
"""Of the first three models: the server is busy for 80 % of the time."""
OPERATIONS_OF_VISIT = 10
THINK_S = 0.2
USERS, CLOSED_THINK_S = 20, 0.056
"""They make about the same load."""
FREEZE_S, PERIOD_S = 1.0, 10.0
ARRIVALS_PER_S, OPERATIONS_OF_FROZEN_VISIT, CYCLE_S = 100.0, 2, 0.1

SLOW = ["--slots", "1", "--queue", "1000000", "--service", f"bimodal:{SHORT_S * 1e3:g}ms,{LONG_S * 1e3:g}ms,{LONG_SHARE:.0%}"]
FROZEN = ["--freeze", f"{FREEZE_S:g}s/{PERIOD_S:g}s"]
OPERATION = '\n[[load.op]]\nname = "get"\npath = "/"\n'


@dataclass(frozen=True)
class Model:
    """Users in front of a known server."""

    name: str
    server: list[str]
    """Options of the known server."""
    load: list[str]
    """Options of the load beside its scenario."""
    scenario: str | None
    simulate: Callable[[random.Random, float], list[float]]
    """Response times, seconds, of so many seconds."""


def _service(draw: random.Random) -> float:
    return LONG_S if draw.random() < LONG_SHARE else SHORT_S


def _served_in_order(draw: random.Random, seconds: float, arrivals: list[float], again: Callable[[float], float | None]) -> list[float]:
    """Response times of a server that serves one at a time. `again`: when a user whose operation ended then has the next one."""
    due, free, times = list(arrivals), 0.0, []
    heapq.heapify(due)
    while due:
        at = heapq.heappop(due)
        if at > seconds:
            break
        free = max(at, free) + _service(draw)
        times.append(free - at)
        following = again(free)
        if following is not None:
            heapq.heappush(due, following)
    return times


def _poisson(draw: random.Random, seconds: float, per_s: float) -> list[float]:
    at, all_of_them = 0.0, []
    while at < seconds:
        at += draw.expovariate(per_s)
        all_of_them.append(at)
    return all_of_them


def _open(draw: random.Random, seconds: float) -> list[float]:
    return _served_in_order(draw, seconds, _poisson(draw, seconds, LOAD_PER_S), lambda _: None)


def _partly_open(draw: random.Random, seconds: float) -> list[float]:
    def again(end: float) -> float | None:
        return None if draw.random() < 1 / OPERATIONS_OF_VISIT else end + draw.expovariate(1 / THINK_S)

    return _served_in_order(draw, seconds, _poisson(draw, seconds, LOAD_PER_S / OPERATIONS_OF_VISIT), again)


def _closed(draw: random.Random, seconds: float) -> list[float]:
    first = [draw.expovariate(1 / CLOSED_THINK_S) for _ in range(USERS)]
    return _served_in_order(draw, seconds, first, lambda end: end + draw.expovariate(1 / CLOSED_THINK_S))


def _frozen(draw: random.Random, seconds: float) -> list[float]:
    """The server answers at once, but in the middle of each period it answers nothing for the length of the freeze."""
    begin = (PERIOD_S - FREEZE_S) / 2
    times, visits = [], int(seconds * ARRIVALS_PER_S)
    for visit in range(visits):
        due = visit / ARRIVALS_PER_S
        while due < seconds:
            in_period = due % PERIOD_S
            wait = begin + FREEZE_S - in_period if begin <= in_period < begin + FREEZE_S else 0.0
            times.append(wait)
            if draw.random() < 1 / OPERATIONS_OF_FROZEN_VISIT:
                break
            due = max(due + wait, due + CYCLE_S)
    return times


def _visits(arrivals: str, operations: int, delay: str) -> str:
    return f'[load.users]\narrivals = "{arrivals}"\nlimit = 4096\nleave = {100 / operations:g}\ndelay = {{ {delay} }}\n{OPERATION}'


MODELS = [
    Model("open loop", SLOW, ["-r", f"{LOAD_PER_S:g}", "-c", "1024"], None, _open),
    Model(
        "partly open: visits of ten operations", SLOW, [],
        _visits(f"poisson:{LOAD_PER_S / OPERATIONS_OF_VISIT:g}/s", OPERATIONS_OF_VISIT, f'think = "exp:{THINK_S * 1e3:g}ms"'), _partly_open,
    ),
    Model(
        "closed: twenty users", SLOW, [],
        f'[load.users]\ncount = {USERS}\ndelay = {{ think = "exp:{CLOSED_THINK_S * 1e3:g}ms" }}\n{OPERATION}', _closed,
    ),
    Model(
        "a freeze of 1 s each 10 s: visits of two operations", FROZEN, [],
        _visits(f"constant:{ARRIVALS_PER_S:g}/s", OPERATIONS_OF_FROZEN_VISIT, f'cycle = "{CYCLE_S * 1e3:g}ms"'), _frozen,
    ),
]  # fmt: skip
