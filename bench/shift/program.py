"""Which program a row is by: commit, profile and date. What a row measures is left to cases, series and simulation."""

from __future__ import annotations

import csv
import datetime
import shutil
from pathlib import Path

from shared import machine
from shared.figures import Rows
from shared.whole_run import REPOSITORY

BY = ["commit", "profile", "date"]
"""The columns that each row has."""
EARLIER = "earlier"
"""The folder with rows of other commits, below the rows that count."""


def of(showdown: Path, profile: str | None) -> dict[str, str]:
    """The commit of the sources, the profile (without one: the directory of the binary, as in `target/release`), and the day."""
    return {
        "commit": machine.commit(REPOSITORY),
        "profile": profile or showdown.resolve().parent.name,
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
    }


def groups(tables: dict[str, Rows]) -> list[tuple[str, str, str, list[str]]]:
    """Commit, profile and dates of the rows, and how many of each name."""
    found: dict[tuple[str, str], tuple[set[str], dict[str, int]]] = {}
    for rows in tables.values():
        for row in rows:
            dates, names = found.setdefault((row.get("commit") or "not recorded", row.get("profile") or "not recorded"), (set(), {}))
            dates.add(row.get("date") or "not recorded")
            name = row.get("fault") or row.get("series") or "simulated"
            names[name] = names.get(name, 0) + 1
    return [(commit, profile, ", ".join(sorted(dates)), [f"{name} ({count})" for name, count in names.items()]) for (commit, profile), (dates, names) in found.items()]


def set_aside(work: Path, published: Path, columns: dict[str, list[str]], now: dict[str, str]) -> int:
    """Moves the rows of other commits and profiles to the published folder of earlier ones; returns how many."""
    moved = 0
    for table, names in columns.items():
        path = work / f"{table}.csv"
        if not path.exists():
            continue
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        of_now = [row for row in rows if all(row.get(name) == now[name] for name in ("commit", "profile"))]
        of_others = [row for row in rows if row not in of_now]
        if of_others:
            _append(published / EARLIER / path.name, names, of_others)
            path.unlink()
            if of_now:
                _append(path, names, of_now)
        moved += len(of_others)
    return moved


def continue_published(work: Path, published: Path, columns: dict[str, list[str]]) -> None:
    """Begins a new directory of work with the published rows, so that rollouts of several days and commits add up."""
    if (work / "run.json").exists():
        return
    work.mkdir(parents=True, exist_ok=True)
    for table, names in columns.items():
        path = published / f"{table}.csv"
        if path.exists() and path.read_text().split("\n", 1)[0] == ",".join(names):
            shutil.copy(path, work / path.name)


def _append(path: Path, columns: list[str], rows: Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n", extrasaction="ignore", restval="")
        if is_new:
            writer.writeheader()
        writer.writerows(rows)
