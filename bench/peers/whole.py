"""One whole run of one client against one server, checked; a run that does not count raises BadRun."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from . import meter, processes
from .clients import BadRun

MOST_MISCOUNT = 0.02
"""Share by which a client's account of its operations may differ from the server's."""
MOST_OF_OTHERS = 0.04
"""Share of the machine that everything else may use during a run."""


def options(program: str, about: str, seconds: int, results: Path) -> argparse.Namespace:
    """The command line of a bench that runs its clients whole."""
    parser = argparse.ArgumentParser(prog=program, description=about)
    parser.add_argument("--engine", type=Path, required=True, help="the showdown binary")
    parser.add_argument("--floor", type=Path, required=True, help="the floor binary, of bench/floor")
    parser.add_argument("--rounds", type=int, default=7, help="of each client [%(default)s]")
    parser.add_argument("--connections", type=int, default=16, help="[%(default)s]")
    parser.add_argument("--seconds", type=int, default=seconds, help="of a run, about [%(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="of the order in the rounds [%(default)s]")
    parser.add_argument("--server-cpu", type=int, default=0, help="[%(default)s]")
    parser.add_argument("--client-cpu", type=int, default=1, help="[%(default)s]")
    parser.add_argument("--results", type=Path, default=results, help="[docs/results]")
    parser.add_argument("--tolerate-noise", action="store_true", help="count runs on a busy machine: to try things out")
    return parser.parse_args()


@dataclass(frozen=True)
class Run:
    """A client as it is called, and what it is held against."""

    argv: list[str]
    exit_codes: tuple[int, ...]
    claimed: Callable[[str], tuple[int, float | None]]
    """From its output: operations, and operations a second if it tells. Raises BadRun on errors."""
    unit: str
    """What operations are, in the plural."""
    served: Callable[[], int] | None
    """The server's count of the same; none if it keeps none."""
    count_seconds: float
    """How long the server may take until its count is whole."""


def cycles(run: Run, output: Path, cpu: int, floor: Path, tolerate_noise: bool) -> dict[str, object]:
    """All cycles an operation over a whole run, from the program's start to its end: the client's CPU time as the kernel
    accounts for it, times the cycles in a second of CPU time, over the operations by the client's account, which the
    server's confirms."""
    before = run.served() if run.served else 0
    clocks = [meter.clock(str(floor), cpu)]
    output.unlink(missing_ok=True)
    machine, began = processes.machine_seconds(), time.monotonic()
    process = processes.start(run.argv, {cpu}, output)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    client_cpu = usage.ru_utime + usage.ru_stime
    busy = processes.machine_seconds()["busy"] - machine["busy"]
    text = output.read_text(errors="replace")
    if process.returncode not in run.exit_codes:
        raise BadRun(f"exit code {process.returncode}: {text.strip()[-300:]}")
    claimed, speed = run.claimed(text)
    clocks.append(meter.clock(str(floor), cpu))
    time.sleep(run.count_seconds)
    served = run.served() - before if run.served else claimed
    if abs(claimed - served) > MOST_MISCOUNT * served:
        raise BadRun(f"the client counts {claimed} {run.unit}, the server {served}")
    # Server and client have a CPU each; whatever is beyond both is of others.
    others = max(0.0, busy - client_cpu - seconds)
    if others / seconds / 2 > MOST_OF_OTHERS and not tolerate_noise:
        raise BadRun(f"others used {others / seconds / 2:.1%} of two CPUs")
    return {
        run.unit: claimed,
        "seconds": round(seconds, 3),
        f"{run.unit}_per_s": round(claimed / seconds if speed is None else speed),
        "all_cycles": round(client_cpu * mean(clocks) / claimed, 1),
        "user_share": round(usage.ru_utime / client_cpu, 3),
        "client_cpu": round(client_cpu / seconds, 3),
        "clock_hz": round(mean(clocks)),
    }


def attempt(run: Callable[[], dict[str, object]], times: int, say: Callable[[str], None]) -> dict[str, object]:
    """The first run that counts, of so many."""
    for number in range(1, times + 1):
        try:
            return run()
        except BadRun as error:
            say(f"  does not count: {error}")
            if number == times:
                raise
    raise AssertionError("unreachable")
