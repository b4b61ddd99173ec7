"""The command line: `python3 -m peers_io --help`."""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from shared import machine, processes, whole_run
from shared.errors import BadRun
from shared.figures import Rows
from shared.markdown import command
from shared.showdown import ENGINE

from . import fio, report, runner
from .cases import CASES, Case
from .runner import Runner

MAX_STEAL = 0.02
"""Share of one CPU that the hypervisor may take during a run."""


def main() -> int:
    """Measures all rounds and writes the page."""
    parser = whole_run.common_options("bench-peers-io", "Block I/O runner and fio, interleaved.", 5)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a run [%(default)s]")
    parser.add_argument("--warmup", type=float, default=0.5, help="seconds before it that do not count [%(default)s]")
    parser.add_argument("--directory", type=Path, default=Path("/var/tmp"), help="on the disk to measure [%(default)s]")
    options = whole_run.parsed(parser, "engine")
    missing = None if shutil.which("fio") else "not installed: fio: run scripts/install-packages bench"
    return whole_run.main(
        "bench-peers-io", options.report_only, missing, lambda: report.PAGE.write(options.results), lambda: _measure(options)
    )


def _measure(options: argparse.Namespace) -> Path:
    engine = str(options.engine.resolve())
    with ExitStack() as stack:
        work = tempfile.TemporaryDirectory(prefix="showdown-peers-io-", dir=options.directory)
        directory = Path(stack.enter_context(work))
        runners = {
            case: stack.enter_context(Runner(engine, case, directory / str(number)))
            for number, case in enumerate(CASES)
        }
        rows = _rounds(runners, options)
    settings = {
        **machine.facts(whole_run.REPOSITORY, options.engine),
        "packages": f"fio {machine.version('fio')}",
        "rounds": options.rounds,
        "seconds of a run": options.seconds,
        "warm-up, s": options.warmup,
        "seed": options.seed,
        "commands": [
            command(argv, directory)
            for case in CASES
            for argv in (
                runner.argv(ENGINE, case, directory),
                fio.argv(case, directory / runner.FILE_NAME, options.warmup, options.seconds),
            )
        ],
    }
    return report.PAGE.save(rows, settings, options.results)


def _rounds(runners: dict[Case, Runner], options: argparse.Namespace) -> Rows:
    """All rounds. The runner and fio run right after each other in each case."""
    order, rows = random.Random(options.seed), []
    for number in range(1, options.rounds + 1):
        for place, case in enumerate(order.sample(CASES, len(CASES)), start=1):
            whole_run.progress(f"round {number}/{options.rounds}: {case.name}")
            for client in order.sample([ENGINE, report.PEER], 2):
                measured = whole_run.attempt(lambda: _run(client, case, runners[case], options))
                figures = {name: round(value, 1) for name, value in measured.items()}
                rows.append({"round": number, "case": case.name, "client": client, "order": place, **figures})
    return rows


def _run(client: str, case: Case, engine: Runner, options: argparse.Namespace) -> dict[str, float]:
    """One run; BadRun if the hypervisor took too much CPU time."""
    before, began = processes.machine_seconds()["steal"], time.monotonic()
    if client == ENGINE:
        measured = engine.run(options.warmup, options.seconds)
    else:
        measured = fio.run(case, engine.file, options.warmup, options.seconds)
    steal = (processes.machine_seconds()["steal"] - before) / (time.monotonic() - began)
    if steal > MAX_STEAL:
        raise BadRun(f"{case.name}: the hypervisor took {steal:.1%} of a CPU (at most {MAX_STEAL:.0%}): try at another time")
    return measured


if __name__ == "__main__":
    whole_run.exit_with(main)
