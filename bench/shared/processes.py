"""Starts processes on given CPUs, stops them by their id, and reads /proc."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from .errors import ServerError

NANOSECONDS = 1e-9


def start(argv: list[str], cpus: set[int], log: Path, **options) -> subprocess.Popen:
    """Starts a process whose threads may run on `cpus` only. Without other options its output goes to `log`."""
    with log.open("ab") as sink:
        options = {"stdout": sink, "stderr": sink, "stdin": subprocess.DEVNULL} | options
        return subprocess.Popen(argv, preexec_fn=lambda: os.sched_setaffinity(0, cpus), **options)


def stop(process: subprocess.Popen, signal_first: int = signal.SIGTERM, patience_s: float = 5.0) -> None:
    """Ends a process that the bench started, with SIGKILL if it does not end in time."""
    if process.poll() is not None:
        return
    process.send_signal(signal_first)
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def ask(argv: list[str], cwd: Path | None, env: dict[str, str] | None = None, patience_s: float = 60.0) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end and returns what it printed. If the bench is stopped meanwhile, the program is asked to end, for it
    has servers of its own to stop."""
    with subprocess.Popen(argv, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            output, errors = process.communicate()
        finally:
            stop(process, patience_s=patience_s)
    return subprocess.CompletedProcess(argv, process.returncode, output, errors)


def await_answer(name: str, process: subprocess.Popen, log: Path, ask: Callable[[], object], within_s: float = 10.0) -> None:
    """Waits until a server that the bench started answers; one that does not is stopped, and its log says why."""
    end = time.monotonic() + within_s
    while time.monotonic() < end and process.poll() is None:
        try:
            ask()
            return
        except OSError:
            time.sleep(0.02)
    stop(process)
    raise ServerError(f"{name} does not answer: {log.read_text().strip()[-500:] or 'no message'}")


def descendants(pid: int) -> list[int]:
    """The process and its running descendants."""
    found = [pid]
    for parent in found:
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                found += [int(child) for child in children.read_text().split()]
            except (FileNotFoundError, ProcessLookupError):
                pass
    return found


def threads(pid: int) -> list[int]:
    """The thread ids of a process and its descendants."""
    return [int(task.name) for each in descendants(pid) for task in Path(f"/proc/{each}/task").glob("*")]


def pin(pid: int, cpu: int) -> None:
    """Moves every thread of a running process and its descendants to one CPU."""
    for thread in threads(pid):
        os.sched_setaffinity(thread, {cpu})


def cpu_seconds(pid: int) -> float:
    """CPU time of all live threads of a process and its descendants (proc(5), schedstat)."""
    total_ns = 0
    for thread in threads(pid):
        try:
            total_ns += int(Path(f"/proc/{thread}/schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            pass
    return total_ns * NANOSECONDS


def resident_bytes(pid: int) -> int:
    """Resident memory of a process and its descendants."""
    total_kib = 0
    for each in descendants(pid):
        for line in Path(f"/proc/{each}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                total_kib += int(line.split()[1])
    return total_kib * 1024


def descriptors(pid: int) -> int:
    """Open descriptors of a process and its descendants."""
    return sum(len(os.listdir(f"/proc/{each}/fd")) for each in descendants(pid))


def machine_seconds() -> dict[str, float]:
    """Busy CPU time and steal of the whole machine since boot (proc(5), /proc/stat)."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    ticks = dict(zip(names, map(int, fields)))
    per_second = os.sysconf("SC_CLK_TCK")
    busy = sum(ticks[name] for name in ("user", "nice", "system", "irq", "softirq"))
    return {"busy": busy / per_second, "steal": ticks["steal"] / per_second}


def free_port() -> int:
    """A free TCP port of loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
