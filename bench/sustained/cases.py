"""Known servers that pause, by their work or by the clock. Running them is left to `__main__`."""

from __future__ import annotations

from dataclasses import dataclass

LIMIT_US = 5_000
OBJECTIVE = "p99<5ms"
ALLOWED = 0.01
"""Share of the operations that may be late by it."""
WORK_US = 25
"""CPU time of a request: the server carries some 35,000/s, which is half of what the client can offer."""


@dataclass(frozen=True)
class Case:
    """A known server."""

    name: str
    options: tuple[str, ...]
    knobs: str

    @property
    def arguments(self) -> list[str]:
        """The options of `showdown __known-server`."""
        return ["--work", f"{WORK_US}us", *self.options]


STEADY = Case("steady", (), f"known:work_us={WORK_US}")


def _by_work(pause_ms: int, every: int) -> Case:
    options = ("--pauses", f"{pause_ms}ms/{every}")
    return Case(f"{pause_ms} ms each {every:,} replies", options, f"{STEADY.knobs},pause_ms={pause_ms},pause_every={every}")


def _by_clock(pause_ms: int, every_ms: int) -> Case:
    options = ("--freeze", f"{pause_ms}ms/{every_ms}ms")
    return Case(f"{pause_ms} ms each {every_ms / 1000:g} s", options, f"{STEADY.knobs},freeze_ms={pause_ms},freeze_every_ms={every_ms}")


CASES = [
    STEADY,
    _by_work(10, 10_000),
    _by_work(30, 20_000),
    _by_work(30, 60_000),
    _by_work(200, 200_000),
    _by_work(500, 300_000),
    _by_clock(10, 2_000),
    _by_clock(30, 5_000),
]

FASTER_AND_PAUSING = [_by_work(30, 20_000), _by_work(200, 200_000)]
"""Each is compared with a steady server that needs more CPU time a request. The steady one carries more."""
SLOWER = f"known:work_us={WORK_US},extra_work=150"
