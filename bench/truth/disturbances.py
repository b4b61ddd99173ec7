"""What takes the client's CPU from it while it measures: another program, or stops like those of a hypervisor."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

STOP_S, PERIOD_S = 0.003, 0.010
"""Length of a stop, and time from one to the next: the client keeps 70 % of its CPU at most."""
STOPS = f"{STOP_S * 1e3:.0f} of every {PERIOD_S * 1e3:.0f} ms"


@contextmanager
def busy_program(cpu: int) -> Iterator[None]:
    """A program that would use all of this CPU."""
    program = subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    try:
        yield
    finally:
        program.kill()
        program.wait()


@contextmanager
def stops(process: subprocess.Popen) -> Iterator[None]:
    """Stops this process for a part of each period."""
    ended = threading.Event()

    def stop_and_continue() -> None:
        while not ended.wait(PERIOD_S - STOP_S):
            process.send_signal(signal.SIGSTOP)
            time.sleep(STOP_S)
            process.send_signal(signal.SIGCONT)

    thread = threading.Thread(target=stop_and_continue, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
