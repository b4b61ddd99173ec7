"""The command line: `python3 -m peers_io --help`."""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from peers import machine, processes
from peers.clients import BadRun
from peers.markdown import command

from . import fio, report, runner
from .cases import CASES, Case
from .runner import Runner

REPOSITORY = Path(__file__).resolve().parents[2]
ATTEMPTS = 5
MOST_STOLEN = 0.02
"""Share of the machine that the hypervisor may take during a run."""


def main() -> int:
    """Runs all rounds and writes the report."""
    options = _options()
    if not shutil.which("fio"):
        print("bench-peers-io: not installed: fio: run scripts/install-packages bench", file=sys.stderr)
        return 1
    try:
        print(_measure(options))
    except BadRun as error:
        print(f"bench-peers-io: {error}", file=sys.stderr)
        return 1
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-peers-io", description="Block I/O runner and fio, interleaved.")
    parser.add_argument("--engine", type=Path, required=True, help="the showdown binary")
    parser.add_argument("--rounds", type=int, default=5, help="of each case [%(default)s]")
    parser.add_argument("--seconds", type=float, default=2.0, help="of a run [%(default)s]")
    parser.add_argument("--warmup", type=float, default=0.5, help="seconds of a run that do not count [%(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="of the order in the rounds [%(default)s]")
    parser.add_argument("--directory", type=Path, default=Path("/var/tmp"), help="on the disk to measure [%(default)s]")
    parser.add_argument("--results", type=Path, default=REPOSITORY / "docs/results", help="[docs/results]")
    return parser.parse_args()


def _measure(options: argparse.Namespace) -> Path:
    order, rows = random.Random(options.seed), []
    engine = str(options.engine.resolve())
    with ExitStack() as stack:
        work = tempfile.TemporaryDirectory(prefix="showdown-peers-io-", dir=options.directory)
        directory = Path(stack.enter_context(work))
        runners = {
            case: stack.enter_context(Runner(engine, case, directory / str(number)))
            for number, case in enumerate(CASES)
        }
        for number in range(1, options.rounds + 1):
            for place, case in enumerate(order.sample(CASES, len(CASES)), start=1):
                print(f"round {number}/{options.rounds}: {case.name}", file=sys.stderr, flush=True)
                for client in order.sample([report.OURS, report.PEER], 2):
                    found = _attempt(client, case, runners[case], options)
                    shown = {name: round(value, 1) for name, value in found.items()}
                    rows.append({"round": number, "case": case.name, "client": client, "order": place, **shown})
    settings = {
        **machine.facts(REPOSITORY, options.engine),
        "packages": f"fio {machine.version('fio')}",
        "rounds": options.rounds,
        "seconds of a run": options.seconds,
        "warm-up, s": options.warmup,
        "seed": options.seed,
        "commands": [
            command(argv, directory)
            for case in CASES
            for argv in (
                runner.argv(report.OURS, case, directory),
                fio.argv(case, directory / runner.FILE_NAME, options.warmup, options.seconds),
            )
        ],
    }
    return report.write(rows, settings, options.results)


def _attempt(client: str, case: Case, ours: Runner, options: argparse.Namespace) -> dict[str, float]:
    """A run, again when the hypervisor had the CPUs."""
    for _ in range(ATTEMPTS):
        before, began = processes.machine_seconds()["steal"], time.monotonic()
        if client == report.OURS:
            found = ours.run(options.warmup, options.seconds)
        else:
            found = fio.run(case, ours.file, options.warmup, options.seconds)
        stolen = (processes.machine_seconds()["steal"] - before) / (time.monotonic() - began)
        if stolen <= MOST_STOLEN:
            return found
        print(f"  does not count: the hypervisor took {stolen:.1%} of a CPU", file=sys.stderr, flush=True)
    raise BadRun(f"{case.name}: the hypervisor took CPU time in {ATTEMPTS} runs: try at another time")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
