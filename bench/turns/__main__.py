"""The command line: `python3 -m turns --help`."""

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
from shared.showdown import ask
from shared.whole_run import REPOSITORY, progress

from . import page
from .subjects import ALONE, ALONE_BLOCKS, IN_TURNS, PAIRS, alone


def main() -> int:
    """Continues the series: rounds in which each pair is compared in both ways, in random order."""
    parser = argparse.ArgumentParser(prog="bench-turns", description="Different servers, compared in turns and alone.")
    names = [pair.name for pair in PAIRS]
    parser.add_argument("--only", choices=names, nargs="+", default=names, help="pairs to compare [all]")
    options = series.parse(parser)
    ledger = Ledger(options.results / "turns" / "comparisons.csv", page.COLUMNS)
    return series.run(options, "turns", lambda end: _round(options, ledger, end), lambda: page.write(ledger))


def _round(options: argparse.Namespace, ledger: Ledger, end: float) -> None:
    pairs = [pair for pair in PAIRS if pair.name in options.only]
    random.shuffle(pairs)
    for pair in pairs:
        # A round has both ways of a pair or neither: they are compared within minutes.
        if time.monotonic() >= end:
            return
        number = 1 + max((int(row["round"]) for row in ledger.rows() if row["subject"] == pair.name), default=0)
        rows = []
        for way in random.sample([IN_TURNS, ALONE], 2):
            row = {"round": number, "way": way} | _compare(options.showdown.resolve(), pair, way)
            progress(f"{pair.name}, {way}: {row['ratio']} ({row['low']} to {row['high']}), {row['seconds']} s")
            rows.append(row)
        for row in rows:
            ledger.append(row)


def _compare(showdown: Path, pair: Subject, way: str) -> dict[str, object]:
    seed = random.SystemRandom().randrange(2**32)
    with tempfile.TemporaryDirectory() as directory:
        runs, plan = Path(directory), Path(directory) / "plan.toml"
        arguments = ["plan", "compare", *pair.variants, "--workload", pair.workload, *pair.options, "--seed", str(seed)]
        blocks = [] if way == IN_TURNS else ["--blocks", str(ALONE_BLOCKS)]
        text = ask(showdown, [*arguments, *blocks], runs)
        plan.write_text(text if way == IN_TURNS else alone(text))
        answer, seconds = comparison.answer_of(showdown, ["run", str(plan)], runs)
    return comparison.row(answer, pair, seed, machine.commit(REPOSITORY), seconds) | {"truth": ""}


if __name__ == "__main__":
    sys.exit(main())
