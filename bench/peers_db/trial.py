"""One run of one client against one server, checked; a run that does not count raises BadRun."""

from __future__ import annotations

import os
import time
from pathlib import Path
from statistics import mean

from peers import meter, processes
from peers.clients import BadRun

from .clients import Client, Task

MOST_MISCOUNT = 0.02
"""Share by which a client's account of its statements may differ from the server's."""
MOST_OF_OTHERS = 0.04
"""Share of the machine that everything else may use during a run."""
COUNT_SECONDS = 1.5
"""PostgreSQL adds up a session's counts when it ends, and once a second."""


def cycles(client: Client, task: Task, cpu: int, floor: Path, tolerate_noise: bool) -> dict[str, object]:
    """All cycles a statement over a whole run, login and preparation included: the client's CPU time as the kernel
    accounts for it, times the cycles in a second of CPU time, over the statements by the client's account, which the
    server's confirms."""
    before = task.server.statements()
    clocks = [meter.clock(str(floor), cpu)]
    output = task.directory / "output"
    output.unlink(missing_ok=True)
    machine, began = processes.machine_seconds(), time.monotonic()
    process = processes.start(client.argv(task), {cpu}, output)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    client_cpu = usage.ru_utime + usage.ru_stime
    busy = processes.machine_seconds()["busy"] - machine["busy"]
    text = output.read_text(errors="replace")
    if process.returncode not in client.exit_codes:
        raise BadRun(f"exit code {process.returncode}: {text.strip()[-300:]}")
    claimed, speed = client.claimed(text)
    clocks.append(meter.clock(str(floor), cpu))
    time.sleep(COUNT_SECONDS)
    served = task.server.statements() - before
    if abs(claimed - served) > MOST_MISCOUNT * served:
        raise BadRun(f"the client counts {claimed} statements, the server {served}")
    # Server and client have a CPU each; whatever is beyond both is of others.
    others = max(0.0, busy - client_cpu - seconds)
    if others / seconds / 2 > MOST_OF_OTHERS and not tolerate_noise:
        raise BadRun(f"others used {others / seconds / 2:.1%} of two CPUs")
    return {
        "statements": claimed,
        "seconds": round(seconds, 3),
        "statements_per_s": round(speed),
        "all_cycles": round(client_cpu * mean(clocks) / claimed, 1),
        "user_share": round(usage.ru_utime / client_cpu, 3),
        "client_cpu": round(client_cpu / seconds, 3),
        "clock_hz": round(mean(clocks)),
    }
