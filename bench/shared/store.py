"""Rows on disk as they are measured: one CSV file per table, one line per trial. A stopped bench can continue."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

Row = dict[str, object]

MAY_DIFFER = ("date", "engine")
"""Settings that may change while a bench is stopped, as long as the engine's binary is the same."""


class OtherRun(Exception):
    """The directory contains an unfinished bench with other settings."""


class Store:
    """The tables and settings of one bench. `tables` has the columns of each table, and `key` the columns that identify a row."""

    def __init__(self, directory: Path, tables: dict[str, list[str]], key: tuple[str, ...]):
        self.directory, self._tables, self._key = directory, tables, key

    def open(self, settings: dict[str, object]) -> None:
        """Starts a bench, or continues a stopped one with the same settings."""
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.directory / "run.json"
        if not path.exists():
            path.write_text(json.dumps(settings, indent=2, ensure_ascii=False) + "\n")
            return
        then = json.loads(path.read_text())
        changed = [name for name in settings if name not in MAY_DIFFER and settings[name] != then.get(name)]
        if changed:
            raise OtherRun(f"{self.directory} contains a bench with another {', '.join(changed)}: pass --fresh to discard it")

    def settings(self) -> dict[str, object]:
        """The settings given to `open`."""
        return json.loads((self.directory / "run.json").read_text())

    def rows(self, table: str) -> list[dict[str, str]]:
        """All rows of a table."""
        path = self.directory / f"{table}.csv"
        if not path.exists():
            return []
        with path.open(newline="") as file:
            return list(csv.DictReader(file))

    def has(self, table: str, key: tuple) -> bool:
        """Whether a table has a row with this key."""
        return any(tuple(row[name] for name in self._key) == tuple(map(str, key)) for row in self.rows(table))

    def add(self, table: str, row: Row) -> None:
        """Writes a row to disk."""
        path = self.directory / f"{table}.csv"
        is_new = not path.exists()
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, self._tables[table], lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerow(row)

    def discard(self, table: str, key: tuple, reason: str) -> None:
        """Records a trial that does not count, with its reason."""
        with (self.directory / "discarded.csv").open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow([table, *key, " ".join(reason.split())])

    def discarded(self) -> int:
        """The number of trials that did not count."""
        path = self.directory / "discarded.csv"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def publish(self, directory: Path) -> None:
        """Replaces the raw figures in a folder of results by these."""
        directory.mkdir(parents=True, exist_ok=True)
        for old in directory.glob("*.csv"):
            old.unlink()
        for path in sorted(self.directory.glob("*.csv")) + [self.directory / "run.json"]:
            shutil.copy(path, directory / path.name)
