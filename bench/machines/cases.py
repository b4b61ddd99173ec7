"""All cases of the bench, with their rounds, and the columns of their rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from shared.store import Row

from . import kills, measures, same

COLUMNS = ["case", "round", "what", "known", "measured", "detail"]
KEY = ("case", "round")


@dataclass(frozen=True)
class Case:
    """What is done in each round."""

    rounds: int
    needs_quiet: bool
    """Whether other programs on the machine change its figures."""
    run: Callable[[measures.Programs, Path, int], list[Row]]


def all_cases(seed: int) -> dict[str, Case]:
    """By name, in the order in which they run."""

    def kill(name: str) -> Callable[[measures.Programs, Path, int], list[Row]]:
        return lambda programs, work, number: kills.run(name, programs, work, number, seed)

    return {
        "counts": Case(3, False, measures.counts),
        "size": Case(1, False, measures.size),
        **{name: Case(10, False, kill(name)) for name in kills.KILLS},
        "percentiles": Case(5, True, measures.percentiles),
        "trial": Case(5, True, measures.trial),
        "agents": Case(3, True, measures.agents),
        "same": Case(40, True, same.compare),
    }
