"""The command line: `python3 -m truth --help`."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from shared import machine, processes
from shared.errors import BadRun
from peers.schedule import say
from shared.errors import ServerError
from shared.store import OtherRun, Store

from . import cases, clients, report

REPOSITORY = Path(__file__).resolve().parents[2]
T = TypeVar("T")
ATTEMPTS = 3
MOST_STEAL = 0.005
"""Share of the CPUs that the hypervisor may take during a case. A p99.9 of 3 s is decided by 3 ms, so this is less than the
2 % that a trial of a comparison may lose."""


def main() -> int:
    """Runs, or only writes the page anew."""
    options = _options()
    store = Store(options.work, cases.TABLES, cases.KEY)
    failed = 0
    try:
        if not options.report_only:
            failed = _measure(options, store)
        report.write(store, options.results)
    except (BadRun, OtherRun, ServerError) as error:
        print(f"bench-truth: {error}", file=sys.stderr)
        return 1
    print(f"{options.results / 'truth.md'}")
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-truth", description="Engine and peers against servers of known behaviour.")
    parser.add_argument("--engine", type=Path, required=True, help="the showdown binary")
    parser.add_argument("--gaps", type=Path, required=True, help="the gaps binary, an example of crates/truth")
    parser.add_argument("--only", action="append", choices=sorted(cases.TABLES), help="only this table; may be repeated")
    parser.add_argument("--for", dest="seconds", type=float, help="stop after so many seconds, to go on another time")
    parser.add_argument("--server-cpu", type=int, default=0, help="[%(default)s]")
    parser.add_argument("--client-cpu", type=int, default=1, help="[%(default)s]")
    parser.add_argument("--work", type=Path, default=REPOSITORY / "target/bench-truth", help="of an unfinished run")
    parser.add_argument("--results", type=Path, default=REPOSITORY / "docs/results", help="[docs/results]")
    parser.add_argument("--fresh", action="store_true", help="drop an unfinished run")
    parser.add_argument("--report-only", action="store_true", help="write the page of the rows that are there")
    return parser.parse_args()


def _measure(options: argparse.Namespace, store: Store) -> int:
    """Takes every case that is not done yet; returns how many came to nothing."""
    missing = [tool for tool in clients.PEERS if not shutil.which(tool)]
    if missing:
        raise BadRun(f"not installed: {', '.join(missing)}: run scripts/install-packages bench")
    if options.fresh:
        shutil.rmtree(options.work, ignore_errors=True)
    store.open(machine.facts(REPOSITORY, options.engine))
    # SIGTERM unwinds like Ctrl-C, so that the servers are stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="showdown-truth-") as directory:
        bench = cases.Bench(
            engine=str(options.engine.resolve()),
            gaps=str(options.gaps.resolve()),
            server_cpu=options.server_cpu,
            client_cpu=options.client_cpu,
            directory=Path(directory),
        )
        bench.capacity_per_s = _capacity(options, bench)
        begun, failed = time.monotonic(), 0
        due = [case for case in cases.all_cases() if not store.has(case.table, (case.name,))]
        due = [case for case in due if not options.only or case.table in options.only]
        for number, case in enumerate(due, start=1):
            if options.seconds and time.monotonic() - begun > options.seconds:
                say(f"{len(due) - number + 1} cases are left: the same command goes on from here")
                break
            say(f"{number}/{len(due)}: {case.table}: {case.name}")
            failed += not _take(bench, store, case)
    return failed


def _take(bench: cases.Bench, store: Store, case: cases.Case) -> bool:
    """Measures a case; one that does not count is due when the same command goes on."""
    for _ in range(ATTEMPTS):
        try:
            rows = _undisturbed(case, bench)
        except (BadRun, ServerError, OSError, subprocess.SubprocessError) as error:
            store.discard(case.table, (case.name,), str(error))
            say(f"  does not count: {error}")
            continue
        for row in rows:
            store.add(case.table, {"case": case.name, **row})
        return True
    return False


def _undisturbed(case: cases.Case, bench: cases.Bench) -> list[cases.Row]:
    """What a case measured, if the CPUs were ours meanwhile."""
    rows, stolen = _watched(lambda: case.measure(bench))
    if stolen > MOST_STEAL:
        raise BadRun(f"the hypervisor took {stolen:.1%} of the CPUs")
    return rows


def _watched(measure: Callable[[], T]) -> tuple[T, float]:
    """What it measures, and the share of all CPUs' time that the hypervisor took meanwhile, 0 to 1."""
    stolen, begun = processes.machine_seconds()["steal"], time.monotonic()
    measured = measure()
    share = (processes.machine_seconds()["steal"] - stolen) / (time.monotonic() - begun) / os.cpu_count()
    return measured, share


def _capacity(options: argparse.Namespace, bench: cases.Bench) -> dict[str, float]:
    """The highest open-loop rate at which one worker is believed, found once for a run: the highest of some attempts if
    the hypervisor took CPUs in each, for then too little is found and never too much."""
    path = options.work / "capacity.json"
    if not path.exists():
        found: list[dict[str, float]] = []
        for _ in range(ATTEMPTS):
            say("looking for the client's capacity")
            capacity, stolen = _watched(lambda: _capacity_found(bench))
            if stolen <= MOST_STEAL:
                found = [capacity]
                break
            found.append(capacity)
        path.write_text(json.dumps({protocol: max(each[protocol] for each in found) for protocol in found[0]}) + "\n")
    return json.loads(path.read_text())


def _capacity_found(bench: cases.Bench) -> dict[str, float]:
    # The selftest gives the client the first of the CPUs, which is as good as the other.
    argv = [bench.engine, "selftest", "--only", "percentiles", "--format", "json"]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    try:
        return {protocol.lower(): rate for protocol, rate in json.loads(ran.stdout)["capacity_per_s"]}
    except (ValueError, KeyError):
        raise BadRun(f"the selftest fails: {ran.stderr.strip()[-300:]}") from None


if __name__ == "__main__":
    try:
        os.environ.setdefault("LC_ALL", "C.UTF-8")
        sys.exit(main())
    except KeyboardInterrupt:
        print("bench-truth: stopped; the same command goes on from here", file=sys.stderr)
        sys.exit(130)
