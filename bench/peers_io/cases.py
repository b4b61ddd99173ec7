"""What is transferred: the same words for the runner and for fio."""

from __future__ import annotations

from dataclasses import dataclass

FILE_BYTES = 256 << 20


@dataclass(frozen=True)
class Case:
    """Transfers of one kind, by one thread."""

    operation: str
    """read or write."""
    pattern: str
    """sequential or random."""
    buffer: int
    cache: str
    """cached or direct."""
    sync: str = "none"
    """data: a write is on the medium when it ends (O_DSYNC)."""
    depth: int = 1
    """Over 1 by io_uring."""

    @property
    def name(self) -> str:
        """As the report calls it."""
        size = f"{self.buffer >> 20} MiB" if self.buffer >= 1 << 20 else f"{self.buffer >> 10} KiB"
        way = f"io_uring, depth {self.depth}" if self.depth > 1 else f"p{self.operation}"
        cache = self.cache + (", O_DSYNC" if self.sync == "data" else "")
        return f"{self.pattern} {self.operation}, {size}, {cache}, {way}"

    @property
    def engine(self) -> str:
        """As both call it."""
        return "io_uring" if self.depth > 1 else "psync"

    @property
    def is_of_the_device(self) -> bool:
        """Whether the device sets the pace, so that the two must agree. Where memory does, what a program spends
        between two transfers is a part of the figure."""
        return self.cache == "direct" or self.sync == "data"


CASES = [
    Case("read", "random", 4096, "direct"),
    Case("read", "random", 4096, "direct", depth=16),
    Case("write", "random", 4096, "direct"),
    Case("write", "random", 4096, "cached", sync="data"),
    # Not longer: where a transfer has more pages than the device takes pieces, whether some lie next to each other
    # decides into how many requests it falls, and that is luck.
    Case("read", "sequential", 256 << 10, "direct"),
    Case("write", "sequential", 256 << 10, "direct"),
    Case("read", "random", 4096, "cached"),
    Case("read", "sequential", 1 << 20, "cached"),
]
