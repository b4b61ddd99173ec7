"""The exact confidence interval of a share (Clopper and Pearson, Biometrika 26, 1934), by bisection of the binomial tails."""

from __future__ import annotations

from math import comb


def interval(successes: int, attempts: int, confidence: float = 0.95) -> tuple[float, float]:
    """The bounds of the true share, with at least this confidence."""
    tail = (1 - confidence) / 2
    low = 0.0 if successes == 0 else _solve(lambda p: _at_least(successes, attempts, p) < tail)
    high = 1.0 if successes == attempts else _solve(lambda p: _at_least(successes + 1, attempts, p) < 1 - tail)
    return low, high


def _at_least(successes: int, attempts: int, p: float) -> float:
    return sum(comb(attempts, k) * p**k * (1 - p) ** (attempts - k) for k in range(successes, attempts + 1))


def _solve(is_below) -> float:
    """The share at which `is_below` turns from true to false."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return (low + high) / 2
