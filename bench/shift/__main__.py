"""The command line: `python3 -m shift --help`."""

from __future__ import annotations

import argparse
import sys

from shared import cases, machine
from shared.results import ResultsPage
from shared.whole_run import REPOSITORY, progress

from . import case, page
from .faults import FAULTS

PAGE = ResultsPage("live-traffic", "cases", case.COLUMNS, page.render)
KEY = ("fault", "repeat")


def main() -> int:
    """Runs the cases that have no row yet, and writes the page of all."""
    options = _options()
    if options.report_only:
        print(PAGE.write(options.results))
        return 0
    store = cases.store(options, case.COLUMNS, KEY)
    facts = machine.facts(REPOSITORY, options.showdown) | {"haproxy": machine.version("haproxy")}
    store.open(facts | {"seed": options.seed})
    due = [(fault, repeat) for repeat in range(1, options.repeats + 1) for fault in options.only if not store.has("cases", (fault, repeat))]
    bad = 0
    try:
        for number, (fault, repeat) in enumerate(due, start=1):
            row = case.run(fault, repeat, options.seed, options.showdown.resolve(), options.work)
            store.add("cases", row)
            found = page.problems(row)
            bad += bool(found)
            progress(f"{number}/{len(due)} {fault}: {row['out_s']} s, exit {row['exit']}, {row['seconds']} s in all {'; '.join(found) or 'ok'}: {row['message']}")
    except KeyboardInterrupt:
        progress("stopped: run the same command to continue")
    command = cases.command("bench-shift", sys.argv[1:])
    print(PAGE.save(store.rows("cases"), store.settings() | {"commands": command}, options.results))
    return 1 if bad else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-shift", description="Disturbs rollouts behind a real HAProxy.")
    parser.add_argument("--only", choices=list(FAULTS), nargs="+", default=list(FAULTS), help="faults to make [all]")
    parser.add_argument("--repeats", type=int, default=20, help="rollouts of each fault [%(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="seed of the moments [%(default)s]")
    return cases.parse(parser, "it signals processes of several users")


if __name__ == "__main__":
    sys.exit(main())
