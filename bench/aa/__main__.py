"""The command line: `python3 -m aa --help`."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from shared import machine, series
from shared.ledger import Ledger
from shared.whole_run import REPOSITORY

from . import comparison, naive, page
from .subjects import SUBJECTS


def main() -> int:
    """Continues the series for a given time, in rounds with one comparison of each subject."""
    options = _options()
    ledgers = {name: Ledger(options.results / "aa" / f"{name}.csv", columns) for name, columns in page.COLUMNS.items()}
    of_precision = Ledger(options.results / "precision" / "comparisons.csv", comparison.COLUMNS)
    return series.run(
        options,
        "aa",
        lambda end: _round(options, ledgers, end),
        lambda: page.write(ledgers["comparisons"], ledgers["naive"], of_precision),
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-aa", description="A server compared with itself, and with a slowed copy.")
    names = [*(subject.name for subject in SUBJECTS), "naive"]
    parser.add_argument("--only", choices=names, nargs="+", default=names, help="subjects to compare [all]")
    return series.parse(parser)


def _round(options: argparse.Namespace, ledgers: dict[str, Ledger], end: float) -> None:
    """One comparison of each chosen subject. A series ends within a round: the random order gives each of them the same chance."""
    commit = machine.commit(REPOSITORY)
    subjects = [subject for subject in SUBJECTS if subject.name in options.only]
    for subject in random.sample(subjects, len(subjects)):
        if time.monotonic() >= end:
            return
        seed = random.SystemRandom().randrange(2**32)
        with tempfile.TemporaryDirectory() as runs:
            row = comparison.compare(options.showdown.resolve(), subject, seed, commit, Path(runs))
        ledgers["comparisons"].append(row)
        print(f"{subject.name}: {row['verdict']} {row['ratio']} ({row['low']} to {row['high']}), {row['seconds']} s", flush=True)
    if "naive" in options.only and time.monotonic() < end:
        row = naive.compare(server_cpu=0, client_cpu=1)
        ledgers["naive"].append(row)
        print(f"naive: {row['first_per_s'] / row['second_per_s']:.3f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
