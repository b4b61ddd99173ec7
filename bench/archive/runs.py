"""An archive of many runs: copies of a made-up run with unique names."""

from __future__ import annotations

import datetime
import shutil
from pathlib import Path

COPIED = ["plan.toml", "verdict.json"]
"""The files of a run that the index reads."""


def fill(root: Path, template: Path, runs: int) -> None:
    """Writes one run per quarter of an hour, the last one now."""
    now = datetime.datetime.now(datetime.UTC)
    for number in range(runs):
        directory = root / name(now - datetime.timedelta(minutes=15 * number))
        (directory / "trials").mkdir(parents=True)
        for file in COPIED:
            shutil.copyfile(template / file, directory / file)


def name(start: datetime.datetime) -> str:
    """The name of a run, as in docs/FORMATS.md: its start, its variants, four hexadecimal digits."""
    return f"{start:%Y%m%dT%H%M%SZ}-nginx-apache-7f3a"
