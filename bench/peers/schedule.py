"""Which trials run, in which order, and their repetition when one does not count."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from shared import meter
from shared.errors import BadRun
from shared.showdown import ENGINE
from shared.store import Row, Store
from shared.whole_run import progress

from . import trials
from .clients import CLIENTS, HTTP, MEMCACHED, Client
from .tables import KEY
from .trials import Disturbed, Testbed

ATTEMPTS = 5
LONGEST_WAIT_SECONDS = 600
"""The longest wait for the machine to become quiet again."""
SYSCALL_ROUNDS = 3
LAG_ROUNDS, LAG_RATE, LAG_SECONDS = 5, 50_000, 5
PACED_ROUNDS, PACED_RATE, PACED_SECONDS = 5, 20_000, 4
MEMORY_CONNECTIONS = (1, 15_000)


@dataclass(frozen=True)
class Step:
    """One planned trial."""

    table: str
    round: int
    order: int
    client: Client
    measure: Callable[[Testbed], Row]
    protocol: str

    @property
    def key(self) -> tuple:
        """The key of its row within its table."""
        return (self.round, self.protocol, self.client.name)


def plan(rounds: int, seed: int, clients: list[Client] = CLIENTS) -> list[Step]:
    """All steps. Each round runs every client once, in its own random order."""
    order = random.Random(seed)
    steps: list[Step] = []

    def add_round(table: str, number: int, chosen: list[Client], measure: Callable[[Testbed, Client], Row]) -> None:
        for place, client in enumerate(order.sample(chosen, len(chosen)), start=1):
            bound = lambda testbed, client=client: measure(testbed, client)  # noqa: E731
            steps.append(Step(table, number, place, client, bound, client.protocol))

    engine = [client for client in clients if client.name == ENGINE and client.protocol == HTTP]
    for number in range(1, rounds + 1):
        add_round("cycles", number, clients, trials.cycles)
    for number in range(1, min(rounds, SYSCALL_ROUNDS) + 1):
        add_round("syscalls", number, [c for c in clients if c.protocol in (HTTP, MEMCACHED)], trials.syscalls)
    for number in range(1, min(rounds, LAG_ROUNDS) + 1):
        add_round("lag", number, engine, lambda testbed, client: trials.lag(testbed, client, LAG_RATE, LAG_SECONDS))
    paced = [client for client in clients if client.paced]
    if len(paced) > 1:  # the engine alone has nobody to be compared with
        for number in range(1, min(rounds, PACED_ROUNDS) + 1):
            measure = lambda testbed, client: trials.paced(testbed, client, PACED_RATE, PACED_SECONDS)  # noqa: E731
            add_round("paced", number, paced, measure)
    wrk = [client for client in clients if client.name == "wrk"]
    for number, connections in enumerate(MEMORY_CONNECTIONS, start=1):
        measure = lambda testbed, client, connections=connections: trials.memory(testbed, client, connections)  # noqa: E731
        add_round("memory", number, engine + wrk, measure)
    return steps


def run(testbed: Testbed, store: Store, steps: list[Step]) -> int:
    """Runs every step that has no row yet; returns how many did not count in any attempt."""
    due = [step for step in steps if not store.has(step.table, step.key)]
    start, failed = time.monotonic(), 0
    for done, step in enumerate(due):
        left_s = (time.monotonic() - start) / done * (len(due) - done) if done else 0
        left = f", about {left_s / 60:.0f} min left" if done else ""
        progress(f"{done + 1}/{len(due)}{left}: {step.table} {step.protocol} {step.client.name}, round {step.round}")
        row = _attempt(testbed, store, step)
        if row is None:
            failed += 1
            continue
        key = dict(zip(KEY, step.key))
        store.add(step.table, {**key, "order": step.order, **row})
    return failed


def _attempt(testbed: Testbed, store: Store, step: Step) -> Row | None:
    for _ in range(ATTEMPTS):
        try:
            return step.measure(testbed)
        except (BadRun, meter.MeterError) as error:
            store.discard(step.table, step.key, str(error))
            progress(f"  does not count: {error}")
            if isinstance(error, Disturbed):
                trials.await_quiet(LONGEST_WAIT_SECONDS)
    return None
