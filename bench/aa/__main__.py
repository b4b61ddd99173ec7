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

from . import comparison, naive, page
from .ledger import Ledger
from .subjects import SUBJECTS

REPOSITORY = Path(__file__).resolve().parents[2]


def main() -> int:
    """Goes on with the series for as long as was asked, one turn of each subject after the other."""
    options = _options()
    ledgers = {name: Ledger(options.results / "aa" / f"{name}.csv", columns) for name, columns in page.COLUMNS.items()}
    end = time.monotonic() + 60 * options.minutes
    try:
        while time.monotonic() < end:
            _round(options, ledgers, end)
    except NoAnswer as error:
        print(f"bench-aa: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench-aa: stopped; the same command goes on", file=sys.stderr)
    finally:
        path = options.results / "aa.md"
        path.write_text(page.write(ledgers["comparisons"], ledgers["naive"]))
        print(path)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-aa", description="A server against itself, and against a slowed copy.")
    names = [*(subject.name for subject in SUBJECTS), "naive"]
    parser.add_argument("--showdown", type=Path, required=True, help="the binary")
    parser.add_argument("--minutes", type=float, default=60, help="begin no comparison after so long [%(default)s]")
    parser.add_argument("--only", choices=names, nargs="+", default=names, help="subjects [all]")
    parser.add_argument("--results", type=Path, default=REPOSITORY / "docs/results", help="[docs/results]")
    return parser.parse_args()


def _round(options: argparse.Namespace, ledgers: dict[str, Ledger], end: float) -> None:
    """One turn of each subject that was asked for."""
    commit = subprocess.run(
        ["git", "-C", str(REPOSITORY), "rev-parse", "--short", "HEAD"], capture_output=True, text=True
    ).stdout.strip()
    for subject in SUBJECTS:
        if subject.name not in options.only or time.monotonic() >= end:
            continue
        seed = random.SystemRandom().randrange(2**32)
        with tempfile.TemporaryDirectory() as runs:
            row = comparison.hold(options.showdown.resolve(), subject, seed, commit, Path(runs))
        ledgers["comparisons"].append(row)
        print(f"{subject.name}: {row['verdict']} {row['ratio']} ({row['low']} to {row['high']}), {row['seconds']} s", flush=True)
    if "naive" in options.only and time.monotonic() < end:
        row = naive.hold(server_cpu=0, client_cpu=1)
        ledgers["naive"].append(row)
        print(f"naive: {row['first_per_s'] / row['second_per_s']:.3f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
