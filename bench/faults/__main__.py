"""The command line: `python3 -m faults --help`."""

from __future__ import annotations

import argparse
import sys

from shared import cases, machine
from shared.results import ResultsPage
from shared.whole_run import REPOSITORY, progress

from . import case, page, plans
from .faults import FAULTS, is_possible

PAGE = ResultsPage("faults", "cases", case.COLUMNS, page.render)
KEY = ("server", "fault", "moment")


def main() -> int:
    """Runs the cases that have no row yet, and writes the page of all."""
    options = _options()
    if options.report_only:
        print(PAGE.write(options.results))
        return 0
    store = cases.store(options, case.COLUMNS, KEY)
    command = cases.command("bench-faults", sys.argv[1:])
    facts = machine.facts(REPOSITORY, options.showdown)
    store.open(facts | {"seed": options.seed})
    due = [
        (server, fault, moment)
        for moment in range(1, options.moments + 1)
        for server in options.servers
        for fault in options.only
        if server in FAULTS[fault].servers and not store.has("cases", (server, fault, moment))
    ]
    impossible = [name for name in options.only if not is_possible(FAULTS[name])]
    for name in impossible:
        progress(f"{name} is not possible here: install the Debian package libfaketime, or run as root")
    failed = _run([one for one in due if one[1] not in impossible], options, store)
    settings = store.settings() | {"commands": command} | ({"not possible here": ", ".join(impossible)} if impossible else {})
    print(PAGE.save(store.rows("cases"), settings, options.results))
    return 1 if failed else 0


def _run(due: list[tuple[str, str, int]], options: argparse.Namespace, store: Store) -> int:
    """Runs these cases; returns how many failed."""
    durations: dict[str, float] = {}
    failed = 0
    showdown = options.showdown.resolve()
    try:
        for number, (server, fault, moment) in enumerate(due, start=1):
            if server not in durations:
                durations[server] = case.undisturbed_s(server, showdown, options.work)
                progress(f"a run of {server} takes {durations[server]:.1f} s")
            at_s = case.share_of(options.seed, server, fault, moment) * durations[server]
            row = case.run(server, fault, moment, at_s, showdown, options.work)
            store.add("cases", row)
            found = {name: row[name] for name in case.CHECKS if row[name]}
            failed += bool(found)
            progress(f"{number}/{len(due)} {server} {fault} at {at_s:.1f} s: exit {row['exit']}, {row['seconds']} s {found or 'ok'}")
    except KeyboardInterrupt:
        progress("stopped: run the same command to continue")
    return failed


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-faults", description="Disturbs runs, and checks what is left of them.")
    parser.add_argument("--only", choices=list(FAULTS), nargs="+", default=list(FAULTS), help="faults to make [all]")
    parser.add_argument("--servers", choices=list(plans.WORKLOADS), nargs="+", default=list(plans.WORKLOADS), help="servers to run [all]")
    parser.add_argument("--moments", type=int, default=10, help="moments of each fault [%(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="seed of the moments [%(default)s]")
    return cases.parse(parser, "it mounts small file systems, in a name space of its own")


if __name__ == "__main__":
    sys.exit(main())
