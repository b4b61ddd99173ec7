"""A CSV file that only grows. A row is on disk before the next comparison starts, so a series can stop at any time."""

from __future__ import annotations

import csv
import os
from pathlib import Path


class Ledger:
    """Rows of one file, with named columns."""

    def __init__(self, path: Path, columns: list[str]):
        self.path, self.columns = path, columns

    def rows(self) -> list[dict[str, str]]:
        """All rows so far."""
        if not self.path.exists():
            return []
        with self.path.open(newline="") as file:
            return list(csv.DictReader(file))

    def append(self, row: dict[str, object]) -> None:
        """Appends a row, and flushes it to the disk."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not self.path.exists()
        with self.path.open("a", newline="") as file:
            writer = csv.DictWriter(file, self.columns, lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerow(row)
            file.flush()
            os.fsync(file.fileno())
