"""How long the rest of a bench takes: by the rollouts that it has, and by an estimate for those of which it has none."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from statistics import mean


@dataclass
class Part:
    """What is missing of a fault or of a series."""

    name: str
    missing: int
    at_once: int
    guess_s: float
    """Seconds of a rollout, before there is one."""
    seen_s: list[float] = field(default_factory=list)

    def seconds(self) -> float:
        """How long the rest takes."""
        return ceil(self.missing / self.at_once) * (mean(self.seen_s) if self.seen_s else self.guess_s)

    def took(self, seconds: float) -> None:
        """Takes a rollout that has ended."""
        self.missing -= 1
        self.seen_s.append(seconds)


def in_words(parts: list[Part]) -> str:
    """The rest of all parts: "about 2 h 10 min left"."""
    minutes = ceil(sum(part.seconds() for part in parts) / 60)
    return f"about {minutes // 60} h {minutes % 60} min left" if minutes >= 60 else f"about {minutes} min left"
