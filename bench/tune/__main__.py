"""The command line: `python3 -m tune --help`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from shared import machine, series
from shared.ledger import Ledger
from shared.showdown import NoAnswer
from shared.whole_run import REPOSITORY, progress

from . import gains, kills, page, searches

KILLS = "kills"
AT_ONCE_S = 10
"""A search that fails sooner has measured nothing, and would fail again: the series ends."""


def main() -> int:
    """Continues the series: rounds with one search of each chosen kind."""
    options = _options()
    ledgers = {name: Ledger(options.results / "tune" / f"{name}.csv", columns) for name, columns in page.COLUMNS.items()}
    return series.run(options, "tune", lambda end: _round(options, ledgers, end), lambda: page.write(ledgers))


def _round(options: argparse.Namespace, ledgers: dict[str, Ledger], end: float) -> None:
    commit = machine.commit(REPOSITORY)
    showdown = options.showdown.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    if KILLS in options.only and time.monotonic() < end:
        row = kills.kill_once(showdown, commit, options.work)
        ledgers["kills"].append(row)
        progress(f"killed after {row['after_s']} s: {row['setting_then']}, then {row['setting_after']}")
    for search in searches.ALL:
        if search.name in options.only and time.monotonic() < end:
            record, error, seconds = searches.run(showdown, search, options.work, options.time)
            if error and seconds < AT_ONCE_S:
                raise NoAnswer(error)
            row = searches.row(search, record, error, commit, seconds)
            ledgers["searches"].append(row)
            if search in searches.SERVERS:
                for tried in gains.of_record(search.name, record, str(row["at"]), commit):
                    ledgers["gains"].append(tried)
            progress(f"{search.name}: {row['sentence'] or row['error']} ({row['seconds']} s)")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-tune", description="Searches for tunings, planted and real, and killed ones.")
    names = [KILLS, *(search.name for search in searches.ALL)]
    parser.add_argument("--time", help="the budget of each search [10m; 20m of real servers]")
    parser.add_argument("--only", choices=names, nargs="+", default=names, help="kinds of searches [all]")
    parser.add_argument("--work", type=Path, default=REPOSITORY / "target/bench-tune", help="directory of the runs")
    options = series.parse(parser)
    if not options.report_only and KILLS in options.only and os.geteuid() != 0:
        parser.error(f"run it as root: {KILLS} changes a kernel setting; or leave it out with --only")
    return options


if __name__ == "__main__":
    sys.exit(main())
