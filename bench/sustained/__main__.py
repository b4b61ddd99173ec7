"""The command line: `python3 -m sustained --help`."""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from shared import machine, series
from shared.ledger import Ledger
from shared.showdown import ask, json_object
from shared.whole_run import REPOSITORY, progress

from . import hlog, page
from .cases import ALLOWED, CASES, FASTER_AND_PAUSING, LIMIT_US, OBJECTIVE, SLOWER, Case
from .real import REAL, Real
from .truth import between

SEARCHED, HELD = "20s", "60s"
SERVER_CPU, CLIENT_CPU = 0, 1
KNOWN = REPOSITORY / "bench" / "truth" / "known"


def main() -> int:
    """Continues the series: rounds with one search for each server, and one comparison for each faster server that pauses."""
    parser = argparse.ArgumentParser(prog="bench-sustained", description="Is a capacity held under continuous load?")
    parser.add_argument("--only", default="", metavar="WORDS", help="a part of the names of the servers")
    options = series.parse(parser)
    directory = options.results / "sustained"
    held, winners = Ledger(directory / "held.csv", page.HELD), Ledger(directory / "winners.csv", page.WINNERS)
    return series.run(options, "sustained", lambda end: _round(options, held, winners, end), lambda: page.write(held, winners))


def _round(options: argparse.Namespace, held: Ledger, winners: Ledger, end: float) -> None:
    showdown = options.showdown.resolve()
    every = [(case, _hold, held) for case in [*CASES, *REAL]] + [(case, _compare, winners) for case in FASTER_AND_PAUSING]
    turns = [turn for turn in every if options.only in turn[0].name]
    for case, measure, ledger in random.sample(turns, len(turns)):
        if time.monotonic() >= end:
            return
        began = time.monotonic()
        row = measure(showdown, case)
        row |= {"at": series.now(), "commit": machine.commit(REPOSITORY), "case": case.name, "seconds": f"{time.monotonic() - began:.0f}"}
        ledger.append(row)
        progress(f"{case.name}: {row}")


def _hold(showdown: Path, case: Case | Real) -> dict[str, object]:
    """Searches the capacity of a server, loads it at that rate without a break, and then at rates around it."""
    with _server(showdown, case) as target:
        load = ["load", *target, "-c", "64", "-t", "1", "--format", "json"]
        found = json_object(_on_client_cpu(showdown, [*load, "--find-capacity", OBJECTIVE, "-d", SEARCHED]))
        capacity, interval, soak = found["capacity_per_s"], found["interval_per_s"] or {}, found["soak"] or {}
        row = {"capacity_per_s": capacity or "", "bound": found["bound"] or "", "late_share": "", "low": interval.get("low", ""), "high": interval.get("high", "")}
        row |= {"soak_s": soak.get("seconds", ""), "soak_late": soak.get("late_share", "")}
        if capacity:
            shares = {}

            def late(rate: float) -> float:
                if rate not in shares:
                    shares[rate] = _late_share(showdown, load, rate)
                return shares[rate]

            row["late_share"] = f"{late(capacity):.5f}"
            truth = between(capacity, lambda rate: late(rate) <= ALLOWED)
            row["truth_low"], row["truth_high"] = (f"{rate:.0f}" for rate in truth) if truth else ("", "")
        return row


def _late_share(showdown: Path, load: list[str], rate: float) -> float:
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "load.hlog"
        answer = json_object(_on_client_cpu(showdown, [*load, "-r", f"{rate:.0f}", "-d", HELD, "--hlog", str(log)]))
        above, count = hlog.late(log, LIMIT_US)
    return (above + answer["failed"]) / max(1, count + answer["failed"])


def _compare(showdown: Path, case: Case) -> dict[str, object]:
    """A quick comparison of a server that pauses with a steady one that needs more CPU time."""
    seed = random.SystemRandom().randrange(2**32)
    with tempfile.TemporaryDirectory() as runs:
        arguments = ["compare", SLOWER, case.knobs, "-w", str(KNOWN / "workload.toml"), "--slo", OBJECTIVE, "--quick"]
        answer = json.loads(ask(showdown, [*arguments, "--seed", str(seed), "--runs", runs, "--format", "json"], Path(runs)))
    (comparison,) = answer["comparisons"]
    estimate, verdict = comparison["estimate"] or {}, comparison["verdict"]
    is_right = verdict["outcome"] == "difference" and "pause" not in comparison[verdict["higher"]]
    return {"seed": seed, "sentence": comparison["sentence"], "is_right": "yes" if is_right else "no"} | {key: estimate.get(key, "") for key in ("ratio", "low", "high")}


def _on_client_cpu(showdown: Path, arguments: list[str]) -> str:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {CLIENT_CPU})
    try:
        return ask(showdown, arguments)
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def _server(showdown: Path, case: Case | Real):
    """A server while it runs; gives what `showdown load` needs for it."""
    if isinstance(case, Real):
        with tempfile.TemporaryDirectory() as directory, case.running(Path(directory), SERVER_CPU) as target:
            yield target
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([showdown, "__known-server", "--port", str(port), *case.arguments], preexec_fn=lambda: os.sched_setaffinity(0, {SERVER_CPU}))
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield [f"http://127.0.0.1:{port}/"]
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    sys.exit(main())
