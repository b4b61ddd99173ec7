"""The kinds of transfers, in the same terms for the runner and for fio."""

from __future__ import annotations

from dataclasses import dataclass

FILE_BYTES = 256 << 20


@dataclass(frozen=True)
class Case:
    """One kind of transfer, by one thread."""

    operation: str
    """read or write."""
    pattern: str
    """sequential or random."""
    buffer: int
    cache: str
    """cached or direct."""
    sync: str = "none"
    """data: a write is on the medium when it returns (O_DSYNC)."""
    depth: int = 1
    """Transfers in flight. Above 1 they use io_uring."""

    @property
    def name(self) -> str:
        """The name in rows and on the page."""
        size = f"{self.buffer >> 20} MiB" if self.buffer >= 1 << 20 else f"{self.buffer >> 10} KiB"
        way = f"io_uring, depth {self.depth}" if self.depth > 1 else f"p{self.operation}"
        cache = self.cache + (", O_DSYNC" if self.sync == "data" else "")
        return f"{self.pattern} {self.operation}, {size}, {cache}, {way}"

    @property
    def engine(self) -> str:
        """The I/O engine, under the same name in both programs."""
        return "io_uring" if self.depth > 1 else "psync"

    @property
    def is_of_the_device(self) -> bool:
        """Whether the device sets the pace, so that both programs must report the same throughput.

        Where memory sets it, the program's own work between two transfers is part of the figure.
        """
        return self.cache == "direct" or self.sync == "data"


CASES = [
    Case("read", "random", 4096, "direct"),
    Case("read", "random", 4096, "direct", depth=16),
    Case("write", "random", 4096, "direct"),
    Case("write", "random", 4096, "cached", sync="data"),
    # Not longer: the kernel splits a transfer with more pages than the device takes segments. How many requests that makes
    # depends on which pages happen to be adjacent.
    Case("read", "sequential", 256 << 10, "direct"),
    Case("write", "sequential", 256 << 10, "direct"),
    Case("read", "random", 4096, "cached"),
    Case("read", "sequential", 1 << 20, "cached"),
]
