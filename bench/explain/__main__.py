"""The command line: `python3 -m explain --help`."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys

from shared import cases, machine
from shared.errors import BadRun
from shared.figures import Rows
from shared.results import ResultsPage
from shared.store import Store
from shared.whole_run import REPOSITORY, progress

from . import case, difference, page
from .causes import CAUSES

PAGE = ResultsPage("explain", "cases", case.COLUMNS, page.render)
KEY = ("cause", "round")
NAMES = [*CAUSES, *difference.SHARES]


def main() -> int:
    """Asks for the cases that have no row yet, and writes the page of all."""
    options = _options()
    # Swap space and control groups of a case are removed, however the bench ends.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if options.report_only:
        print(PAGE.write(options.results))
        return 0
    store = cases.store(options, case.COLUMNS, KEY)
    given = ["--rounds", str(options.rounds), "--only", *options.only]
    store.open(machine.facts(REPOSITORY, options.showdown))
    kept = _kept(options, store)
    answered = {(row["cause"], int(row["round"])) for row in kept}
    commit = machine.commit(REPOSITORY)
    library = case.build_plant(options.work)
    # A round of all causes after another, so that a machine that changes favours none of them.
    due = [(name, number) for number in range(1, options.rounds + 1) for name in options.only]
    due = [key for key in due if key not in answered and not store.has("cases", key)]
    code = 0
    try:
        for at, (name, number) in enumerate(due, start=1):
            asks = difference if name in difference.SHARES else case
            row = asks.run(name, number, options.showdown.resolve(), library, options.work)
            store.add("cases", row | {"commit": commit})
            said = row.get("sentence") or row.get("message")
            progress(f"{at}/{len(due)} {name}: {'named' if row['named'] else 'NOT NAMED'}, {row['seconds']} s: {said}")
    except KeyboardInterrupt:
        progress("stopped: run the same command to continue")
    except BadRun as error:
        progress(f"stopped: {error}")
        code = 1
    commands = f"make bench-explain EXPLAIN_OPTIONS={shlex.quote(shlex.join(given))}"
    print(PAGE.save([*kept, *store.rows("cases")], store.settings() | {"commands": commands}, options.results))
    return code


def _kept(options: argparse.Namespace, store: Store) -> Rows:
    """The rows of the results that other commits have measured, if they are to stay."""
    if not options.keep:
        return []
    return [row for row in PAGE.saved(options.results)[0] if not store.has("cases", (row["cause"], row["round"]))]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-explain", description="Plants causes in servers, and checks whether they are named.")
    parser.add_argument("--only", choices=NAMES, nargs="+", default=NAMES, help="causes to plant [all]")
    parser.add_argument("--rounds", type=int, default=5, help="cases of each cause [%(default)s]")
    parser.add_argument("--keep", action="store_true", help="keep the rows of the results, which can be of other commits")
    return cases.parse(parser, "memory and disks are limited by control groups")


if __name__ == "__main__":
    sys.exit(main())
