"""Measures whole runs of clients, from start to end, and checks them. A run that does not count raises BadRun.

This file has the command line and the rounds of such benches. What they measure, and their pages, is left to them.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import TypeVar

from . import machine, meter, processes
from .errors import BadRun, ServerError
from .figures import Rows
from .results import Settings

REPOSITORY = Path(__file__).resolve().parents[2]
RESULTS = REPOSITORY / "docs/results"
MAX_MISCOUNT = 0.02
"""Share by which a client's count of its operations may differ from the server's."""
MAX_OTHERS = 0.04
"""Share of the machine that all other programs may use during a run."""
ATTEMPTS = 5

T = TypeVar("T")


def progress(message: str) -> None:
    """Prints progress to standard error."""
    print(message, file=sys.stderr, flush=True)


def common_options(program: str, about: str, rounds: int) -> argparse.ArgumentParser:
    """The options of every bench that measures in rounds."""
    parser = argparse.ArgumentParser(prog=program, description=about)
    parser.add_argument("--engine", type=Path, help="the showdown binary")
    parser.add_argument("--rounds", type=int, default=rounds, help="rounds to measure [%(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="seed of the order within the rounds [%(default)s]")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where to write the page [docs/results]")
    parser.add_argument("--report-only", action="store_true", help="write the page again from its raw figures")
    return parser


def options(program: str, about: str, seconds: int) -> argparse.Namespace:
    """The command line of a bench that compares whole runs of network clients."""
    parser = common_options(program, about, 7)
    parser.add_argument("--floor", type=Path, help="the floor binary, from bench/floor")
    parser.add_argument("--connections", type=int, default=16, help="connections of each client [%(default)s]")
    parser.add_argument("--seconds", type=int, default=seconds, help="approximate length of a run [%(default)s]")
    parser.add_argument("--server-cpu", type=int, default=0, help="CPU of the server [%(default)s]")
    parser.add_argument("--client-cpu", type=int, default=1, help="CPU of the client [%(default)s]")
    parser.add_argument("--tolerate-noise", action="store_true", help="count runs on a busy machine too: for trying things out")
    return parsed(parser, "engine", "floor")


def parsed(parser: argparse.ArgumentParser, *binaries: str) -> argparse.Namespace:
    """The parsed options. A measurement needs these binaries, and the page alone does not."""
    found = parser.parse_args()
    for name in binaries:
        if not found.report_only and getattr(found, name) is None:
            parser.error(f"--{name} is required to measure")
    return found


def main(program: str, is_report_only: bool, missing: str | None, report: Callable[[], Path], measure: Callable[[], Path]) -> int:
    """Writes the page, with or without measuring first; returns the exit code. `missing` is why measuring is impossible."""
    try:
        if not is_report_only and missing:
            raise BadRun(missing)
        print(report() if is_report_only else measure())
    except (BadRun, ServerError, meter.MeterError, FileNotFoundError) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 1
    return 0


def exit_with(main_function: Callable[[], int]) -> None:
    """Ends the program with the exit code of its main function, and with 130 after Ctrl-C."""
    try:
        sys.exit(main_function())
    except KeyboardInterrupt:
        sys.exit(130)


def settings(options: argparse.Namespace, packages: list[str], commands: list[str]) -> Settings:
    """Facts and settings of a bench that compares whole runs."""
    return {
        **machine.facts(REPOSITORY, options.engine),
        "packages": ", ".join(f"{name} {machine.version(name)}" for name in packages),
        "rounds": options.rounds,
        "connections": options.connections,
        "seconds of a run": options.seconds,
        "seed": options.seed,
        "noise": "tolerated" if options.tolerate_noise else "refused",
        "commands": commands,
    }


def in_rounds(turns: list[T], options: argparse.Namespace, run: Callable[[T], dict[str, object]], title: Callable[[T], str]) -> Rows:
    """One row for each turn in each round. The order within a round is random, from the seed."""
    order, rows = random.Random(options.seed), []
    for number in range(1, options.rounds + 1):
        for place, turn in enumerate(order.sample(turns, len(turns)), start=1):
            progress(f"round {number}/{options.rounds}: {title(turn)}")
            rows.append({"round": number, "order": place, **attempt(lambda turn=turn: run(turn))})
    return rows


@dataclass(frozen=True)
class Run:
    """A client's command line, and how its output is checked."""

    argv: list[str]
    exit_codes: tuple[int, ...]
    claimed: Callable[[str], tuple[int, float | None]]
    """From its output: operations, and operations per second if it prints them. Raises BadRun on errors."""
    unit: str
    """The name of the operations, in the plural."""
    served: Callable[[], int] | None
    """The server's count of the same operations; None if it has none."""
    count_seconds: float
    """How long the server may take to complete its count."""


def cycles(run: Run, output: Path, options: argparse.Namespace) -> dict[str, object]:
    """All cycles per operation over a whole run, from the program's start to its end.

    They are the client's CPU time by the kernel's account, times the cycles in a second of CPU time, divided by the
    operations by the client's count. The server's count must agree.
    """
    before = run.served() if run.served else 0
    clocks = [meter.clock(str(options.floor), options.client_cpu)]
    output.unlink(missing_ok=True)
    busy_before, began = processes.machine_seconds()["busy"], time.monotonic()
    process = processes.start(run.argv, {options.client_cpu}, output)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    client_cpu = usage.ru_utime + usage.ru_stime
    busy = processes.machine_seconds()["busy"] - busy_before
    text = output.read_text(errors="replace")
    if process.returncode not in run.exit_codes:
        raise BadRun(f"{shlex.join(run.argv)}: exit code {process.returncode}: {text.strip()[-300:]}")
    claimed, speed = run.claimed(text)
    clocks.append(meter.clock(str(options.floor), options.client_cpu))
    time.sleep(run.count_seconds)
    served = run.served() - before if run.served else claimed
    if abs(claimed - served) > MAX_MISCOUNT * served:
        raise BadRun(f"the client counts {claimed} {run.unit}, the server {served}")
    # Server and client have one CPU each. CPU time beyond both belongs to other programs.
    others = max(0.0, busy - client_cpu - seconds)
    if others / seconds / 2 > MAX_OTHERS and not options.tolerate_noise:
        raise BadRun(f"other programs used {others / seconds / 2:.1%} of two CPUs")
    return {
        run.unit: claimed,
        "seconds": round(seconds, 3),
        f"{run.unit}_per_s": round(claimed / seconds if speed is None else speed),
        "all_cycles": round(client_cpu * mean(clocks) / claimed, 1),
        "user_share": round(usage.ru_utime / client_cpu, 3),
        "client_cpu": round(client_cpu / seconds, 3),
        "clock_hz": round(mean(clocks)),
    }


def attempt(run: Callable[[], dict[str, object]]) -> dict[str, object]:
    """The first run that counts, of at most ATTEMPTS."""
    for number in range(1, ATTEMPTS + 1):
        try:
            return run()
        except BadRun as error:
            progress(f"  does not count: {error}")
            if number == ATTEMPTS:
                raise
    raise AssertionError("unreachable")
