"""The command line: `python3 -m harness --help`."""

from __future__ import annotations

import argparse
import os
import tempfile
from contextlib import nullcontext
from pathlib import Path

from shared import machine, whole_run
from shared.figures import Rows
from shared.results import ResultsPage, Settings

from . import kills, lists, load, page
from .bed import Programs
from .database import Postgres

STORES = ["SQLite", "PostgreSQL"]
PARTS = ["lists", "load", "kills"]


def main() -> int:
    """Measures both stores and writes the page, or only writes the page."""
    options = _options()
    return whole_run.main("bench-harness", options.report_only, None, lambda: PAGE.write(options.results), lambda: _measure(options))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-harness", description="The harness with many runs, controllers and watchers, and when its parts are killed.")
    parser.add_argument("--showdown", type=Path, help="the binary; showdown-harness is beside it")
    parser.add_argument("--stand-in", type=Path, help="the binary that stands in for showdown and measures nothing")
    parser.add_argument("--many", type=Path, help="the binary that writes many made-up runs")
    parser.add_argument("--part", action="append", choices=PARTS, help="measure this part only; repeat it for others")
    parser.add_argument("--entries", type=int, default=10_000, help="entries that wait [%(default)s]")
    parser.add_argument("--controllers", type=int, default=100, help="controllers with a run each [%(default)s]")
    parser.add_argument("--watchers", type=int, default=200, help="watchers of these runs [%(default)s]")
    parser.add_argument("--lines", type=float, default=4.0, help="lines a second of each run: showdown tells 4 [%(default)s]")
    parser.add_argument("--seconds", type=int, default=60, help="how long the watchers are measured [%(default)s]")
    parser.add_argument("--kills", type=int, default=1_000, help="kills at random moments, on each store [%(default)s]")
    parser.add_argument("--runs", type=int, default=100_000, help="runs of the archive [%(default)s]")
    parser.add_argument("--calls", type=int, default=200, help="calls of each list [%(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="seed of the kills [%(default)s]")
    parser.add_argument("--beside", default="nothing", help="what ran on the machine meanwhile, for the page [%(default)s]")
    parser.add_argument("--results", type=Path, default=whole_run.RESULTS, help="where to write the page [docs/results]")
    parser.add_argument("--report-only", action="store_true", help="write the page again from its raw figures")
    return whole_run.parsed(parser, "showdown", "stand_in", "many")


def _measure(options: argparse.Namespace) -> Path:
    parts = options.part or PARTS
    before = os.getloadavg()[0]
    rows: Rows = []
    with tempfile.TemporaryDirectory(prefix="showdown-harness-") as work:
        root = Path(work)
        # PostgreSQL has another user.
        root.chmod(0o755)
        programs = Programs(options.showdown, options.stand_in)
        if "lists" in parts:
            whole_run.progress(f"an archive of {options.runs} runs")
            rows += lists.measure(options, programs, options.many, root / "archive", options.runs)
        for part, measure in (("load", load.measure), ("kills", kills.measure)):
            for store in STORES if part in parts else []:
                home = root / f"{part}-{store.lower()}"
                database = Postgres(home / "database") if store == "PostgreSQL" else None
                with database or nullcontext():
                    rows += measure(options, programs, home, store, database)
    settings: Settings = {
        **machine.facts(whole_run.REPOSITORY, options.showdown),
        "packages": f"postgresql {machine.version('postgresql')}",
        **{name: getattr(options, name) for name in ("entries", "controllers", "watchers", "lines", "seconds", "kills", "runs", "calls", "seed")},
        "parts": ", ".join(parts),
        "load average before": f"{before:.1f}",
        "beside": options.beside,
    }
    return PAGE.save(rows, settings, options.results)


PAGE = ResultsPage("harness", "values", page.COLUMNS, page.page)


if __name__ == "__main__":
    whole_run.exit_with(main)
