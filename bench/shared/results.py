"""The raw figures and settings of a finished bench: a CSV file and run.json in a folder beside its page.

A page can be written again from them without measuring: `--report-only`.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .figures import Rows

Settings = dict[str, object]


@dataclass(frozen=True)
class ResultsPage:
    """A page of results with one table of raw figures."""

    target: str
    """The name of the page and of its folder."""
    table: str
    """The name of the CSV file."""
    columns: list[str]
    render: Callable[[Rows, Settings], str]
    """The page as Markdown."""

    def save(self, rows: Rows, settings: Settings, results: Path) -> Path:
        """Writes the raw figures and the page; returns the path of the page."""
        folder = results / self.target
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{self.table}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, self.columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        (folder / "run.json").write_text(json.dumps(settings, indent=2, ensure_ascii=False) + "\n")
        return self.write(results)

    def write(self, results: Path) -> Path:
        """Writes the page from its raw figures; returns its path."""
        path = results / f"{self.target}.md"
        path.write_text(self.text(results))
        return path

    def text(self, results: Path) -> str:
        """The page from its raw figures."""
        return self.render(*self.saved(results))

    def saved(self, results: Path) -> tuple[Rows, Settings]:
        """The raw figures and settings. A CSV file has text only."""
        folder = results / self.target
        with (folder / f"{self.table}.csv").open(newline="") as file:
            rows: Rows = list(csv.DictReader(file))
        return rows, json.loads((folder / "run.json").read_text())
