"""The command line: `python3 -m precision --help`."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from aa import comparison
from shared import series
from shared.ledger import Ledger
from shared.whole_run import progress

from . import page
from .subjects import BARS, SUBJECTS


def main() -> int:
    """Continues the series: rounds in which both releases compare each server with itself, in random order."""
    options = _options()
    ledger = Ledger(options.results / "precision" / "comparisons.csv", page.COLUMNS)
    return series.run(options, "precision", lambda end: _round(options, ledger, end), lambda: page.write(ledger))


def _round(options: argparse.Namespace, ledger: Ledger, end: float) -> None:
    releases = {page.NOW: options.showdown, page.BEFORE: options.before}
    due = [(release, subject) for subject in SUBJECTS if subject.name in options.only for release in releases]
    random.shuffle(due)
    for release, subject in due:
        if time.monotonic() >= end:
            return
        with tempfile.TemporaryDirectory() as runs:
            seed = random.SystemRandom().randrange(2**32)
            row = comparison.compare(releases[release].resolve(), subject, seed, release, Path(runs))
        ledger.append(row)
        progress(f"{subject.name}, {release}: {row['low']} to {row['high']}, {row['seconds']} s")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-precision", description="Half-widths of quick comparisons, now and before.")
    parser.add_argument("--before", type=Path, help="the binary of the earlier release")
    parser.add_argument("--only", choices=list(BARS), nargs="+", default=list(BARS), help="subjects to compare [all]")
    return series.parse(parser, "before")


if __name__ == "__main__":
    sys.exit(main())
