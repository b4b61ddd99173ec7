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

from shared import machine, processes, whole_run
from shared.errors import BadRun, ServerError
from shared.markdown import plural
from shared.store import OtherRun, Store
from shared.whole_run import REPOSITORY, progress

from . import cases, clients, report

T = TypeVar("T")
ATTEMPTS = 3
MAX_STEAL = 0.005
"""Share of the CPUs that the hypervisor may take during a case. 3 ms decide the p99.9 of 3 s, so this is less than the 2 %
of a trial."""


def main() -> int:
    """Measures and writes the page, or only writes the page."""
    options = _options()
    failed = 0
    try:
        if not options.report_only:
            failed = _measure(options, cases.store(options.work))
        report.write(options.results)
    except (BadRun, OtherRun, ServerError, FileNotFoundError) as error:
        print(f"bench-truth: {error}", file=sys.stderr)
        return 1
    print(f"{options.results / 'truth.md'}")
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-truth", description="Engine and peers against servers of known behaviour.")
    parser.add_argument("--engine", type=Path, help="the showdown binary")
    parser.add_argument("--gaps", type=Path, help="the gaps binary, an example of crates/truth")
    parser.add_argument("--only", action="append", choices=sorted(cases.TABLES), help="measure this table only; may be repeated")
    parser.add_argument("--for", dest="seconds", type=float, help="stop after this many seconds, to continue later")
    parser.add_argument("--server-cpu", type=int, default=0, help="CPU of the servers [%(default)s]")
    parser.add_argument("--client-cpu", type=int, default=1, help="CPU of the clients [%(default)s]")
    parser.add_argument("--work", type=Path, default=REPOSITORY / "target/bench-truth", help="rows of an unfinished bench")
    parser.add_argument("--results", type=Path, default=REPOSITORY / "docs/results", help="where to write the page [docs/results]")
    parser.add_argument("--fresh", action="store_true", help="discard an unfinished bench")
    parser.add_argument("--report-only", action="store_true", help="write the page again from its raw figures")
    return whole_run.parsed(parser, "engine", "gaps")


def _measure(options: argparse.Namespace, store: Store) -> int:
    """Measures every case that has no rows yet; returns how many did not count."""
    missing = [tool for tool in clients.PEERS if not shutil.which(tool)]
    if missing:
        raise BadRun(f"not installed: {', '.join(missing)}: run scripts/install-packages bench")
    if options.fresh:
        shutil.rmtree(options.work, ignore_errors=True)
    store.open(machine.facts(REPOSITORY, options.engine))
    # SIGTERM unwinds the stack like Ctrl-C, so that the servers are stopped.
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
                progress(f"{plural(len(due) - number + 1, 'case')} left: run the same command to continue")
                break
            progress(f"{number}/{len(due)}: {case.table}: {case.name}")
            failed += not _measure_case(bench, store, case)
    store.publish(options.results / "truth")
    return failed


def _measure_case(bench: cases.Bench, store: Store, case: cases.Case) -> bool:
    """Measures a case; returns whether it counts. One that does not is measured again with the next command."""
    for _ in range(ATTEMPTS):
        try:
            rows = _undisturbed(case, bench)
        except (BadRun, ServerError, OSError, subprocess.SubprocessError) as error:
            store.discard(case.table, (case.name,), str(error))
            progress(f"  does not count: {error}")
            continue
        for row in rows:
            store.add(case.table, {"case": case.name, **row})
        return True
    return False


def _undisturbed(case: cases.Case, bench: cases.Bench) -> list[cases.Row]:
    """The rows of a case; BadRun if the hypervisor took CPU time meanwhile."""
    rows, steal = _with_steal(lambda: case.measure(bench))
    if steal > MAX_STEAL:
        raise BadRun(f"the hypervisor took {steal:.1%} of the CPUs")
    # What is below the limit can still make 1 % of the sends of a short load late.
    recorded = {"steal": round(steal, 5)} if "steal" in cases.TABLES[case.table] else {}
    return [row | recorded for row in rows]


def _with_steal(measure: Callable[[], T]) -> tuple[T, float]:
    """The result of a measurement, and the share of all CPU time that the hypervisor took meanwhile, 0 to 1."""
    before, begun = processes.machine_seconds()["steal"], time.monotonic()
    measured = measure()
    share = (processes.machine_seconds()["steal"] - before) / (time.monotonic() - begun) / os.cpu_count()
    return measured, share


def _capacity(options: argparse.Namespace, bench: cases.Bench) -> dict[str, float]:
    """The highest open-loop rate at which one worker gives valid results, measured once per bench.

    Steal makes the rate too low and never too high. If the hypervisor took CPU time in every attempt, the highest counts.
    """
    path = options.work / "capacity.json"
    if not path.exists():
        found: list[dict[str, float]] = []
        for _ in range(ATTEMPTS):
            progress("measuring the client's capacity")
            capacity, steal = _with_steal(lambda: _capacity_found(bench))
            if steal <= MAX_STEAL:
                found = [capacity]
                break
            found.append(capacity)
        path.write_text(json.dumps({protocol: max(each[protocol] for each in found) for protocol in found[0]}) + "\n")
    return json.loads(path.read_text())


def _capacity_found(bench: cases.Bench) -> dict[str, float]:
    # The selftest gives the client the first CPU. Both CPUs are alike.
    argv = [bench.engine, "selftest", "--only", "percentiles", "--format", "json"]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    try:
        found = {protocol.lower(): rate for protocol, rate in json.loads(ran.stdout)["capacity_per_s"]}
    except (ValueError, KeyError):
        raise BadRun(f"the selftest failed: {ran.stderr.strip()[-300:]}") from None
    return {protocol: bench.highest_valid_rate(protocol, rate) for protocol, rate in found.items()}


if __name__ == "__main__":
    try:
        os.environ.setdefault("LC_ALL", "C.UTF-8")
        sys.exit(main())
    except KeyboardInterrupt:
        print("bench-truth: stopped: run the same command to continue", file=sys.stderr)
        sys.exit(130)
