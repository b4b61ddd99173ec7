"""The command line: `python3 -m company --help`."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from aa import comparison
from shared import machine, series
from shared.ledger import Ledger
from shared.showdown import NoAnswer
from shared.whole_run import REPOSITORY, progress

from . import page
from .company import KINDS, beside
from .subjects import SUBJECTS


def main() -> int:
    """Continues the series for a given time: each comparison beside each kind of company, in random order."""
    parser = argparse.ArgumentParser(prog="bench-company", description="Comparisons beside other programs.")
    kinds = [kind.name for kind in KINDS]
    parser.add_argument("--kinds", choices=kinds, nargs="+", default=kinds, help="kinds of company [all]")
    parser.add_argument("--only", choices=page.SUBJECT_NAMES, nargs="+", default=page.SUBJECT_NAMES, help="subjects to compare [all]")
    options = series.parse(parser)
    ledger = Ledger(options.results / "company" / "comparisons.csv", page.COLUMNS)
    return series.run(options, "company", lambda end: _round(options, ledger, end), lambda: page.write(ledger))


def _round(options: argparse.Namespace, ledger: Ledger, end: float) -> None:
    """One comparison of each chosen subject beside each chosen kind of company."""
    commit = machine.commit(REPOSITORY)
    pairs = [(kind, subject) for kind in KINDS for subject in SUBJECTS if kind.name in options.kinds and subject.name in options.only]
    for kind, subject in random.sample(pairs, len(pairs)):
        if time.monotonic() >= end:
            return
        seed = random.SystemRandom().randrange(2**32)
        with tempfile.TemporaryDirectory() as runs, beside(kind):
            try:
                row = comparison.compare(options.showdown.resolve(), subject, seed, commit, Path(runs))
            except NoAnswer as error:
                progress(f"{subject.name} beside {kind.name}: {error}")
                continue
        ledger.append({"kind": kind.name, **row})
        progress(f"{subject.name} beside {kind.name}: {row['verdict']} {row['ratio']} ({row['low']} to {row['high']}) {row['unit']}, {row['seconds']} s")


if __name__ == "__main__":
    sys.exit(main())
