"""The command line: `python3 -m aa --help`."""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from shared.showdown import NoAnswer
from shared.whole_run import REPOSITORY

from . import comparison, naive, page
from .ledger import Ledger
from .subjects import SUBJECTS


def main() -> int:
    """Continues the series for a given time, in rounds with one comparison of each subject."""
    options = _options()
    ledgers = {name: Ledger(options.results / "aa" / f"{name}.csv", columns) for name, columns in page.COLUMNS.items()}
    end = time.monotonic() + (0 if options.report_only else 60 * options.minutes)
    try:
        while time.monotonic() < end:
            _round(options, ledgers, end)
    except NoAnswer as error:
        print(f"bench-aa: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench-aa: stopped: run the same command to continue", file=sys.stderr)
    finally:
        path = options.results / "aa.md"
        path.write_text(page.write(ledgers["comparisons"], ledgers["naive"]))
        print(path)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-aa", description="A server compared with itself, and with a slowed copy.")
    names = [*(subject.name for subject in SUBJECTS), "naive"]
    parser.add_argument("--showdown", type=Path, help="the binary")
    parser.add_argument("--minutes", type=float, default=60, help="start no comparison after this time [%(default)s]")
    parser.add_argument("--only", choices=names, nargs="+", default=names, help="subjects to compare [all]")
    parser.add_argument("--results", type=Path, default=REPOSITORY / "docs/results", help="where to write the page [docs/results]")
    parser.add_argument("--report-only", action="store_true", help="write the page again from its rows")
    options = parser.parse_args()
    if not options.report_only and options.showdown is None:
        parser.error("--showdown is required to compare")
    return options


def _round(options: argparse.Namespace, ledgers: dict[str, Ledger], end: float) -> None:
    """One comparison of each chosen subject."""
    commit = subprocess.run(
        ["git", "-C", str(REPOSITORY), "rev-parse", "--short", "HEAD"], capture_output=True, text=True
    ).stdout.strip()
    for subject in SUBJECTS:
        if subject.name not in options.only or time.monotonic() >= end:
            continue
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
