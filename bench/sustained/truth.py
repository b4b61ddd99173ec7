"""The highest rate whose continuous load meets the objective, found around a rate by few loads. How a load is run is left to others."""

from __future__ import annotations

from collections.abc import Callable

STEP = 1.1
"""From one load to the next, until one meets the objective and one does not."""
MOST_STEPS = 8
CLOSE = 1.05
"""The truth is known between two rates no further apart than this."""


def between(found: float, meets: Callable[[float], bool]) -> tuple[float, float] | None:
    """The highest rate that was seen to meet the objective, and the lowest above it that was not. None if there are no such rates near
    the one that was found."""
    low = high = None
    rate = found
    for _ in range(MOST_STEPS):
        if meets(rate):
            low = rate
        else:
            high = rate
        if low and high:
            break
        rate = rate * STEP if low else rate / STEP
    if not (low and high):
        return None
    while high / low > CLOSE:
        middle = (low * high) ** 0.5
        if meets(middle):
            low = middle
        else:
            high = middle
    return low, high
