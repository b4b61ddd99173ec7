"""Runs programs, so many at a time. What a program prints is kept; its process group is killed when it takes too long."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Job:
    """One program with its arguments."""

    name: str
    command: list[str]
    directory: Path
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ended:
    """How a job ended."""

    job: Job
    succeeded: bool
    seconds: float
    cpu_seconds: float
    """Of it and of the children that it waited for."""
    printed: str


class Pool:
    """The programs that run now, from all threads."""

    def __init__(self) -> None:
        self.running: set[subprocess.Popen] = set()
        self.changing = threading.Lock()
        self.stopped = False

    def stop(self) -> None:
        """Kills what runs, and starts nothing more."""
        with self.changing:
            self.stopped = True
            for child in self.running:
                _kill(child)

    def run(self, job: Job, longest: float) -> Ended:
        """Runs a job to its end. After `longest` seconds it is killed, and has failed."""
        began = time.monotonic()
        with tempfile.TemporaryFile() as output:
            child = self._start(job, output)
            if child is None:
                return Ended(job, False, 0.0, 0.0, "not run\n")
            late = threading.Timer(longest, _kill, [child])
            late.start()
            # It stays a process, with an id that no other has, until it has left the set of those that may be killed.
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            is_late = not late.is_alive()
            late.cancel()
            late.join()
            with self.changing:
                self.running.discard(child)
                _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            printed = output.read().decode(errors="replace")
            if is_late:
                printed += f"\nkilled: it did not end within {longest:.0f} s\n"
        seconds, cpu_seconds = time.monotonic() - began, used.ru_utime + used.ru_stime
        return Ended(job, child.returncode == 0, seconds, cpu_seconds, printed)

    def run_all(self, jobs: Iterable[Job], at_once: int, longest: float, ended: Callable[[Ended], None]) -> None:
        """Runs jobs in their order, so many at once. `ended` is called for each of them, from the thread that ran it."""
        with ThreadPoolExecutor(at_once) as workers:
            for future in [workers.submit(lambda job=job: ended(self.run(job, longest))) for job in jobs]:
                future.result()

    def _start(self, job: Job, output) -> subprocess.Popen | None:
        with self.changing:
            if self.stopped:
                return None
            child = subprocess.Popen(
                job.command,
                cwd=job.directory,
                env=os.environ | job.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self.running.add(child)
            return child


def _kill(child: subprocess.Popen) -> None:
    """Kills a child with its process group."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
