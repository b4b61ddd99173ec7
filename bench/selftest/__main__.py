"""The command line: `python3 -m selftest --help`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from shared import machine, series
from shared.ledger import Ledger
from shared.showdown import ask, json_object
from shared.whole_run import REPOSITORY, progress

from . import page


def main() -> int:
    """Continues the series: one selftest after the other."""
    options = series.parse(argparse.ArgumentParser(prog="bench-selftest", description="Selftests of an idle machine, one after the other."))
    ledger = Ledger(options.results / "selftest" / "tests.csv", page.COLUMNS)
    return series.run(options, "selftest", lambda _: _test(options.showdown, ledger), lambda: page.write(ledger))


def _test(showdown: Path, ledger: Ledger) -> None:
    began = time.monotonic()
    answer = json_object(ask(showdown.resolve(), ["selftest", "--format", "json"]))
    row = page.row(answer, machine.commit(REPOSITORY), round(time.monotonic() - began, 1))
    ledger.append(row)
    progress(f"{row['fitness']} after {row['seconds']} s: {row['reasons'] or 'no reasons'}")


if __name__ == "__main__":
    sys.exit(main())
