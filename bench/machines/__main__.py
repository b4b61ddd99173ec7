"""The command line: `python3 -m machines --help`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from shared import cases as cases_cli
from shared import machine
from shared.results import ResultsPage
from shared.whole_run import REPOSITORY, progress

from . import page
from .cases import COLUMNS, KEY, all_cases
from .measures import Programs

PAGE = ResultsPage("machines", "cases", COLUMNS, page.render)


def main() -> int:
    """Runs the cases that have no row yet, and writes the page of all."""
    options = _options()
    if options.report_only:
        print(PAGE.write(options.results))
        return 0
    store = cases_cli.store(options, COLUMNS, KEY)
    store.open(machine.facts(REPOSITORY, options.showdown) | {"seed": options.seed})
    programs = Programs(options.showdown.resolve(), options.static and options.static.resolve())
    ends = time.monotonic() + 60 * options.minutes
    try:
        for name, case in all_cases(options.seed).items():
            for number in range(1, case.rounds + 1) if name in options.only else ():
                if store.has("cases", (name, number)) or time.monotonic() > ends:
                    continue
                began = time.monotonic()
                for row in case.run(programs, options.work, number):
                    store.add("cases", {"case": name, "round": number, **row})
                    known = f" (known: {row['known']})" if row["known"] != "" else ""
                    progress(f"{name} {number}: {row['what']}: {row['measured']}{known} {row['detail']}")
                progress(f"{name} {number}/{case.rounds}: {time.monotonic() - began:.0f} s")
    except KeyboardInterrupt:
        progress("stopped: run the same command to continue")
    print(PAGE.save(store.rows("cases"), store.settings() | {"commands": "make bench-machines"}, options.results))
    return 0


def _options() -> argparse.Namespace:
    names = list(all_cases(0))
    parser = argparse.ArgumentParser(prog="bench-machines", description="Measures hosts behind ssh, and kills parts of them.")
    parser.add_argument("--static", type=Path, help="another build for these hosts, such as a static one, whose size is measured too")
    parser.add_argument("--only", choices=names, nargs="+", default=names, help="cases to run [all]")
    parser.add_argument("--minutes", type=float, default=24 * 60, help="begin no case after this time; the same command continues")
    parser.add_argument("--seed", type=int, default=1, help="seed of the moments [%(default)s]")
    return cases_cli.parse(parser, "its hosts are network namespaces")


if __name__ == "__main__":
    sys.exit(main())
