"""Rows on disk as they come: one CSV file a table, one line a trial, so that a stopped run can go on."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

from .trials import Row

KEY = ("round", "protocol", "client")
RESULT_COLUMNS = {
    "cycles": (
        "requests seconds requests_per_s user_cycles all_cycles samples clock_hz"
        " client_cpu server_cpu others_cpu steal"
    ),
    "syscalls": "requests_per_s syscalls strace_requests strace_syscalls",
    "lag": "rate achieved_per_s unsent lag_p50_us lag_p99_us lag_max_us response_time_p50_us response_p99_us valid",
    "memory": "connections resident_bytes",
}
MAY_DIFFER = ("date", "engine")
"""A run may go on after midnight, and after a commit, as long as the engine's binary is the same."""
TABLES = {name: [*KEY, "order", *columns.split()] for name, columns in RESULT_COLUMNS.items()}


class OtherRun(Exception):
    """The directory holds an unfinished run of something else."""


class Store:
    """The tables of one run, and what it was run with. Tables are columns by name, of which `key` tell rows apart."""

    def __init__(self, directory: Path, tables: dict[str, list[str]] = TABLES, key: tuple[str, ...] = KEY):
        self.directory, self._tables, self._key = directory, tables, key

    def open(self, settings: dict[str, object]) -> None:
        """Begins a run, or goes on with one that was stopped, if it is the same."""
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.directory / "run.json"
        if not path.exists():
            path.write_text(json.dumps(settings, indent=2) + "\n")
            return
        then = json.loads(path.read_text())
        changed = [name for name in settings if name not in MAY_DIFFER and settings[name] != then.get(name)]
        if changed:
            raise OtherRun(f"{self.directory} holds a run with another {', '.join(changed)}: pass --fresh to drop it")

    def settings(self) -> dict[str, object]:
        """As given to `open`."""
        return json.loads((self.directory / "run.json").read_text())

    def rows(self, table: str) -> list[dict[str, str]]:
        """All rows so far."""
        path = self.directory / f"{table}.csv"
        if not path.exists():
            return []
        with path.open(newline="") as file:
            return list(csv.DictReader(file))

    def has(self, table: str, key: tuple) -> bool:
        """Whether a trial is done."""
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
        """Keeps record of a trial that did not count."""
        with (self.directory / "discarded.csv").open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow([table, *key, " ".join(reason.split())])

    def discarded(self) -> int:
        """How many trials did not count."""
        path = self.directory / "discarded.csv"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def publish(self, directory: Path) -> None:
        """Copies the raw figures to where they are kept."""
        directory.mkdir(parents=True, exist_ok=True)
        for old in directory.glob("*.csv"):
            old.unlink()
        for path in sorted(self.directory.glob("*.csv")) + [self.directory / "run.json"]:
            shutil.copy(path, directory / path.name)
