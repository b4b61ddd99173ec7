"""What was slow, how busy the CPUs were, and what was skipped: arithmetic and text, without processes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .pool import Ended

SKIPPED = "SKIPPED: "
FORBIDDEN = ("this container ", "this machine ", "this user ")
"""What a test prints at the beginning of a line with the reason, where this machine cannot run it."""

SLOWEST = 10


@dataclass(frozen=True)
class CpuTimes:
    """CPU time of this machine since its start, in ticks."""

    busy: int
    all: int

    @classmethod
    def now(cls) -> CpuTimes:
        return cls.read(Path("/proc/stat").read_text())

    @classmethod
    def read(cls, stat: str) -> CpuTimes:
        """The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal; guests are in the first two."""
        ticks = [int(number) for number in stat.splitlines()[0].split()[1:9]]
        return cls(sum(ticks) - ticks[3] - ticks[4], sum(ticks))

    def busy_since(self, before: CpuTimes) -> float:
        """The share of the CPU time between both that was used."""
        return (self.busy - before.busy) / max(1, self.all - before.all)


def duration(seconds: float) -> str:
    """Such as 7.3 s or 12 min 05 s."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s"


def slowest(ended: Iterable[Ended]) -> list[str]:
    """A line for each of the slowest, with its CPU time: what has little of it waits."""
    longest_first = sorted(ended, key=lambda one: -one.seconds)
    return [f"{one.seconds:7.1f} s {one.cpu_seconds:7.1f} s CPU  {one.job.name}" for one in longest_first[:SLOWEST]]


def busiest(ended: Iterable[Ended]) -> list[str]:
    """A line for each of those that used the most CPU time, with the share of all: that is what a machine with few CPUs waits for."""
    ended = list(ended)
    all_seconds = max(sum(one.cpu_seconds for one in ended), 1e-9)
    busiest_first = sorted(ended, key=lambda one: -one.cpu_seconds)
    return [f"{one.cpu_seconds:7.1f} s CPU {one.cpu_seconds / all_seconds:6.1%}  {one.job.name}" for one in busiest_first[:SLOWEST]]


def by_choice(skipped: Iterable[str]) -> list[str]:
    """Those of these lines whose test could be run here: by root, or with another package. What a container forbids cannot be mended by
    who runs the tests."""
    return [line for line in skipped if not any(reason in line for reason in FORBIDDEN)]


def skipped(ended: Iterable[Ended]) -> list[str]:
    """A line for each skipped test with the reason."""
    lines = []
    for one in ended:
        test = one.job.name
        for line in one.printed.splitlines():
            # Unit tests share a process: what each of them printed comes below a line with its name.
            if section := re.fullmatch(r"---- (.+) stdout ----", line):
                test = f"{one.job.name} {section[1]}"
            elif line.startswith(SKIPPED):
                lines.append(f"{test}: {line.removeprefix(SKIPPED)}")
    return sorted(set(lines))
