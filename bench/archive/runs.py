"""An archive of many runs: copies of a made-up one under names of their own."""

from __future__ import annotations

import datetime
import shutil
from pathlib import Path

COPIED = ["plan.toml", "verdict.json"]
"""All that an index reads of a run."""


def fill(root: Path, template: Path, runs: int) -> None:
    """A run every quarter of an hour, the last one now."""
    now = datetime.datetime.now(datetime.UTC)
    for number in range(runs):
        directory = root / name(now - datetime.timedelta(minutes=15 * number))
        (directory / "trials").mkdir(parents=True)
        for file in COPIED:
            shutil.copyfile(template / file, directory / file)


def name(start: datetime.datetime) -> str:
    """As docs/FORMATS.md has it: when it began, what was compared, four hexadecimal digits."""
    return f"{start:%Y%m%dT%H%M%SZ}-nginx-apache-7f3a"
