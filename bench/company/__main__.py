"""The command line: `python3 -m company --help`."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from aa import comparison
from aa.subjects import Subject
from shared import machine, series
from shared.ledger import Ledger
from shared.showdown import NoAnswer
from shared.whole_run import REPOSITORY, progress

from . import clients, page
from .company import KINDS, Kind, beside
from .subjects import README, README_KIND, SUBJECTS

QUIET = "quiet"
WITH_CLIENTS = "bursts"
"""The company beside which the client is compared with wrk."""


def main() -> int:
    """Continues the series for a given time: each comparison beside each kind of company, in random order."""
    parser = argparse.ArgumentParser(prog="bench-company", description="Comparisons beside other programs.")
    kinds = [kind.name for kind in KINDS]
    parser.add_argument("--kinds", choices=kinds, nargs="+", default=kinds, help="kinds of company [all]")
    parser.add_argument("--only", choices=page.SUBJECT_NAMES, nargs="+", default=page.SUBJECT_NAMES, help="subjects to compare [all]")
    parser.add_argument("--before", type=Path, help="the binary of the release before company: equal servers without company are compared with it, too")
    options = series.parse(parser)
    folder = options.results / "company"
    ledger, of_clients = Ledger(folder / "comparisons.csv", page.COLUMNS), Ledger(folder / "clients.csv", clients.COLUMNS)
    return series.run(options, "company", lambda end: _round(options, ledger, of_clients, end), lambda: page.write(ledger, of_clients))


def _round(options: argparse.Namespace, ledger: Ledger, of_clients: Ledger, end: float) -> None:
    """One comparison of each chosen subject beside each chosen kind of company, and the two clients beside one kind."""
    commit = machine.commit(REPOSITORY)
    due = _due(options)
    for kind, subject, is_before in random.sample(due, len(due)):
        if time.monotonic() >= end:
            return
        seed = random.SystemRandom().randrange(2**32)
        binary, label = (options.before, page.BEFORE) if is_before else (options.showdown, commit)
        with tempfile.TemporaryDirectory() as runs, beside(kind):
            try:
                row = comparison.compare(binary.resolve(), subject, seed, label, Path(runs))
            except NoAnswer as error:
                progress(f"{subject.name} beside {kind.name}: {error}")
                continue
        ledger.append({"kind": kind.name, **row})
        progress(f"{subject.name} beside {kind.name}: {row['verdict']} {row['ratio']} ({row['low']} to {row['high']}) {row['unit']}, {row['seconds']} s")
    with_clients = next(kind for kind in KINDS if kind.name == WITH_CLIENTS)
    if time.monotonic() < end and with_clients.name in options.kinds:
        with beside(with_clients):
            of_clients.append({"kind": with_clients.name, "commit": commit, **clients.compare(options.showdown.resolve())})


def _due(options: argparse.Namespace) -> list[tuple[Kind, Subject, bool]]:
    """Kinds and subjects, and whether the earlier release compares."""
    due = []
    for kind in (kind for kind in KINDS if kind.name in options.kinds):
        subjects = SUBJECTS + (README if kind.name == README_KIND else [])
        for subject in (subject for subject in subjects if subject.name in options.only):
            due.append((kind, subject, False))
            if kind.name == QUIET and subject.is_null and options.before:
                due.append((kind, subject, True))
    return due


if __name__ == "__main__":
    sys.exit(main())
