"""Rollouts that exist in numbers only: `cargo run -p traffic --example rollouts`, and its rows."""

from __future__ import annotations

import csv
import io
import subprocess
from pathlib import Path

from shared.errors import ServerError

from .program import BY

COLUMNS = ["case", "rollouts", "rolled_back", "median_s", "p90_s", "extra_late", *BY]
PROGRAM = "examples/rollouts"
"""Beside the program of the bench, where cargo builds it."""


def run(beside: Path, rollouts: int) -> list[dict[str, object]]:
    """Simulates so many rollouts of each kind."""
    program = beside / PROGRAM
    if not program.exists():
        raise ServerError(f"{program} is missing: build it with `cargo build --release --locked -p traffic --example rollouts`")
    output = subprocess.run([str(program), str(rollouts)], capture_output=True, text=True, check=True).stdout
    return list(csv.DictReader(io.StringIO(output)))
