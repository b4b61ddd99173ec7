"""The command line: `python3 -m tune --help`."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from aa.ledger import Ledger
from shared.whole_run import REPOSITORY, RESULTS, progress

from . import kills, page, searches

KILLS = "kills"


def main() -> int:
    """Continues the series: rounds with one search of each chosen kind."""
    options = _options()
    ledgers = {name: Ledger(options.results / "tune" / f"{name}.csv", columns) for name, columns in page.COLUMNS.items()}
    end = time.monotonic() + (0 if options.report_only else 60 * options.minutes)
    try:
        while time.monotonic() < end:
            _round(options, ledgers, end)
    except KeyboardInterrupt:
        progress("bench-tune: stopped: run the same command to continue")
    finally:
        path = options.results / "tune.md"
        path.write_text(page.write(ledgers))
        print(path)
    return 0


def _round(options: argparse.Namespace, ledgers: dict[str, Ledger], end: float) -> None:
    commit = subprocess.run(
        ["git", "-C", str(REPOSITORY), "rev-parse", "--short", "HEAD"], capture_output=True, text=True
    ).stdout.strip()
    showdown = options.showdown.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    if KILLS in options.only and time.monotonic() < end:
        row = kills.kill_once(showdown, commit, options.work)
        ledgers["kills"].append(row)
        progress(f"killed after {row['after_s']} s: {row['setting_then']}, then {row['setting_after']}")
    for search in searches.ALL:
        if search.name in options.only and time.monotonic() < end:
            row = searches.run(showdown, search, commit, options.work, options.time)
            ledgers["searches"].append(row)
            progress(f"{search.name}: {row['sentence'] or row['error']} ({row['seconds']} s)")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-tune", description="Searches for tunings, planted and real, and killed ones.")
    names = [KILLS, *(search.name for search in searches.ALL)]
    parser.add_argument("--showdown", type=Path, help="the binary")
    parser.add_argument("--minutes", type=float, default=60, help="start no search after this time [%(default)s]")
    parser.add_argument("--time", help="the budget of each search [10m; 20m of real servers]")
    parser.add_argument("--only", choices=names, nargs="+", default=names, help="kinds of searches [all]")
    parser.add_argument("--work", type=Path, default=REPOSITORY / "target/bench-tune", help="directory of the runs")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where to write the page [docs/results]")
    parser.add_argument("--report-only", action="store_true", help="write the page again from its rows")
    options = parser.parse_args()
    if not options.report_only and options.showdown is None:
        parser.error("--showdown is required to search")
    if not options.report_only and KILLS in options.only and os.geteuid() != 0:
        parser.error(f"run it as root: {KILLS} changes a kernel setting; or leave it out with --only")
    return options


if __name__ == "__main__":
    sys.exit(main())
