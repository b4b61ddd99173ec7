"""The raw figures and settings of a finished bench: a CSV file and run.json in a folder beside its page.

A page can be written again from them without measuring: `--report-only`.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

from .figures import Rows

Settings = dict[str, object]


def save(folder: Path, name: str, columns: list[str], rows: Rows, settings: Settings) -> None:
    """Writes the rows as NAME.csv, and the settings."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    (folder / "run.json").write_text(json.dumps(settings, indent=2, ensure_ascii=False) + "\n")


def load(folder: Path, name: str) -> tuple[Rows, Settings]:
    """The same rows and settings. A CSV file has text only."""
    with (folder / f"{name}.csv").open(newline="") as file:
        rows: Rows = list(csv.DictReader(file))
    return rows, json.loads((folder / "run.json").read_text())
