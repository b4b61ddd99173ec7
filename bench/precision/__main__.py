"""The command line: `python3 -m precision --help`."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from aa import comparison
from aa.ledger import Ledger
from shared.showdown import NoAnswer
from shared.whole_run import REPOSITORY, progress

from . import page
from .subjects import BARS, SUBJECTS


def main() -> int:
    """Continues the series: rounds in which both releases compare each server with itself, in random order."""
    options = _options()
    ledger = Ledger(options.results / "precision" / "comparisons.csv", page.COLUMNS)
    end = time.monotonic() + (0 if options.report_only else 60 * options.minutes)
    releases = {page.NOW: options.showdown, page.BEFORE: options.before}
    try:
        while time.monotonic() < end:
            due = [(release, subject) for subject in SUBJECTS if subject.name in options.only for release in releases]
            random.shuffle(due)
            for release, subject in due:
                if time.monotonic() >= end:
                    break
                with tempfile.TemporaryDirectory() as runs:
                    binary = releases[release].resolve()
                    row = comparison.compare(binary, subject, random.SystemRandom().randrange(2**32), release, Path(runs))
                ledger.append(row)
                progress(f"{subject.name}, {release}: {row['low']} to {row['high']}, {row['seconds']} s")
    except NoAnswer as error:
        print(f"bench-precision: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench-precision: stopped: run the same command to continue", file=sys.stderr)
    finally:
        path = options.results / "precision.md"
        path.write_text(page.write(ledger))
        print(path)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-precision", description="Half-widths of quick comparisons, now and before.")
    parser.add_argument("--showdown", type=Path, help="the binary")
    parser.add_argument("--before", type=Path, help="the binary of the earlier release")
    parser.add_argument("--minutes", type=float, default=60, help="start no comparison after this time [%(default)s]")
    parser.add_argument("--only", choices=list(BARS), nargs="+", default=list(BARS), help="subjects to compare [all]")
    parser.add_argument("--results", type=Path, default=REPOSITORY / "docs/results", help="where to write the page [docs/results]")
    parser.add_argument("--report-only", action="store_true", help="write the page again from its rows")
    options = parser.parse_args()
    if not options.report_only and None in (options.showdown, options.before):
        parser.error("--showdown and --before are required to compare")
    return options


if __name__ == "__main__":
    sys.exit(main())
