"""The faults: how each is made, how it is undone before the next start, and what showdown may say about it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .sandbox import Sandbox, name_of, parent_of

FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
"""From the package libfaketime."""
CLOCK_FILE = "clock"
MEMORY = 300 << 20
HOG_S = 1.0
RESUME = r"`showdown resume \S+` goes on"
KILLED = -signal.SIGKILL
FINISHED = {0: "", 3: ""}
"""A run that ends in a verdict or in none, without a message. With one CPU a side, most of these short trials are invalid."""
STOPPED = rf"the run stopped early: .*{RESUME}"


@dataclass
class Running:
    """A run under way."""

    sandbox: Sandbox
    process: subprocess.Popen
    second: tuple[int, str] | None = None
    """Exit code and message of a second showdown."""


@dataclass(frozen=True)
class Fault:
    """One row of the matrix."""

    about: str
    inject: Callable[[Running], bool]
    """Makes the fault. False if the run ended before it was possible."""
    expected: dict[int, str]
    """The exit codes that are right, each with a pattern of its message; an empty one is that of no message."""
    repair: Callable[[Sandbox], None] = lambda sandbox: None
    environment: Callable[[Sandbox], dict[str, str]] = lambda sandbox: {}
    prepare: Callable[[Sandbox, subprocess.Popen], None] = lambda sandbox, process: None
    servers: tuple[str, ...] = ("nginx", "mariadb")
    needs: Path | None = field(default=None)
    """A file that must be there."""


def _kill_showdown(run: Running) -> bool:
    run.process.kill()
    return True


def _kill(role: str) -> Callable[[Running], bool]:
    def kill(run: Running) -> bool:
        while run.process.poll() is None:
            for pid in in_role(role, {pid: (name_of(pid), parent_of(pid)) for pid in run.sandbox.processes()}):
                try:
                    os.kill(pid, signal.SIGKILL)
                    return True
                except ProcessLookupError:
                    pass
            time.sleep(0.002)
        return False

    return kill


def in_role(role: str, processes: dict[int, tuple[str, int]]) -> list[int]:
    """The processes in a role, from the name and the parent of each: the guard, the supervisor, the server, or its workers."""
    supervisors = {pid for pid, (name, _) in processes.items() if name == "sd-keeper"}
    servers = {pid for pid, (name, parent) in processes.items() if parent in supervisors and not name.startswith("sd-")}
    roles = {
        "guard": {pid for pid, (name, _) in processes.items() if name == "sd-guard"},
        "supervisor": supervisors,
        "server": servers,
        "worker": {pid for pid, (_, parent) in processes.items() if parent in servers},
    }
    return sorted(roles[role])


def _fill(disk: str) -> Callable[[Running], bool]:
    def fill(run: Running) -> bool:
        run.sandbox.fill(disk)
        return True

    return fill


def _room(disk: str) -> Callable[[Sandbox], None]:
    return lambda sandbox: sandbox.make_room(disk)


def _writable(sandbox: Sandbox) -> None:
    sandbox.remount("runs", "rw")


def _step_clock(run: Running) -> bool:
    (run.sandbox.home / CLOCK_FILE).write_text("+3600\n")
    return True


def _false_clock(sandbox: Sandbox) -> dict[str, str]:
    path = sandbox.home / CLOCK_FILE
    path.write_text("+0\n")
    return {
        "LD_PRELOAD": str(FAKETIME),
        "FAKETIME_TIMESTAMP_FILE": str(path),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }


def _second(run: Running) -> bool:
    run.second = run.sandbox.ask(["run", "plan.toml", "--progress", "none"])
    # Where the first run ended meanwhile, the second one is right to begin.
    return run.second[0] not in FINISHED


def _interrupt_twice(run: Running) -> bool:
    for pause in (0.2, 0):
        if run.process.poll() is None:
            run.process.send_signal(signal.SIGINT)
            time.sleep(pause)
    return True


def cgroup(sandbox: Sandbox) -> Path:
    """The control group of a case, of either version."""
    first = Path("/sys/fs/cgroup/memory")
    return (first if first.is_dir() else Path("/sys/fs/cgroup")) / f"showdown-faults-{os.getpid()}-{sandbox.home.name}"


def _limit_memory(sandbox: Sandbox, process: subprocess.Popen) -> None:
    group = cgroup(sandbox)
    group.mkdir()
    version_1 = group / "memory.limit_in_bytes"
    (version_1 if version_1.exists() else group / "memory.max").write_text(str(MEMORY))
    (group / "cgroup.procs").write_text(str(process.pid))


def _take_memory(run: Running) -> bool:
    """A process in the group takes nearly all of its memory for a moment, and is itself spared by the kernel."""
    hog = f"""
import os, time
open("/proc/self/oom_score_adj", "w").write("-1000")
open({str(cgroup(run.sandbox) / "cgroup.procs")!r}, "w").write(str(os.getpid()))
taken = bytearray({MEMORY - (12 << 20)})
for at in range(0, len(taken), 4096): taken[at] = 1
time.sleep({HOG_S})
"""
    try:
        subprocess.run([sys.executable, "-c", hog], timeout=60, capture_output=True)
    except subprocess.TimeoutExpired:
        return False
    return True


def _remove_group(sandbox: Sandbox) -> None:
    deadline = time.monotonic() + 5
    while cgroup(sandbox).exists() and time.monotonic() < deadline:
        try:
            cgroup(sandbox).rmdir()
        except OSError:
            time.sleep(0.05)


ANY_FAILURE = r"\S"
AGAIN = "interrupted again: it ends at once|^$"
"""The second Ctrl-C has a message, if it does not come after the end."""
FULL = r"(is full|has \d+ MB left): free some space"

FAULTS: dict[str, Fault] = {
    "kill-showdown": Fault("SIGKILL of showdown", _kill_showdown, {KILLED: "", **FINISHED}),
    "kill-guard": Fault("SIGKILL of the guard", _kill("guard"), {1: STOPPED, **FINISHED}),
    "kill-keeper": Fault("SIGKILL of the supervisor", _kill("supervisor"), {1: STOPPED, **FINISHED}),
    "kill-server": Fault("SIGKILL of the server", _kill("server"), {1: STOPPED, **FINISHED}),
    "kill-worker": Fault("SIGKILL of a worker of the server", _kill("worker"), {1: STOPPED, **FINISHED}, servers=("nginx",)),
    "full-runs": Fault(
        "the disk of the run directory is full",
        _fill("runs"),
        {1: FULL, **FINISHED},
        _room("runs"),
    ),
    "full-scratch": Fault("the disk of the scratch directory is full", _fill("scratch"), {1: FULL, **FINISHED}, _room("scratch")),
    "full-journal": Fault(
        "the disk of the journal of kernel settings is full", _fill("journal"), {1: r"journal|kernel setting", **FINISHED}, _room("journal")
    ),
    "read-only-runs": Fault(
        "the run directory becomes read-only",
        lambda run: run.sandbox.remount("runs", "ro"),
        {1: "the file system is read-only: make it writable", **FINISHED},
        _writable,
    ),
    "out-of-memory": Fault(
        "a control group of 300 MB runs out of memory",
        _take_memory,
        {1: ANY_FAILURE, KILLED: "", **FINISHED},
        _remove_group,
        prepare=_limit_memory,
    ),
    "clock-step": Fault(
        "showdown's wall clock steps by an hour (libfaketime)", _step_clock, FINISHED, environment=_false_clock, needs=FAKETIME
    ),
    "second-showdown": Fault("a second showdown begins a run", _second, FINISHED),
    "ctrl-c-twice": Fault("Ctrl-C twice", _interrupt_twice, {130: AGAIN, **FINISHED}),
}
SECOND = r"another showdown is measuring on this machine .*: wait until it has ended"


def message_of(log: str) -> str:
    """The line of a failure on standard error; empty without one."""
    lines = [line.removeprefix("showdown: ") for line in log.splitlines() if line.startswith("showdown: ")]
    return lines[-1] if lines else ""


def wrong_message(fault: Fault, code: int, log: str) -> str:
    """What is wrong with exit code and message; empty if they are right."""
    message = message_of(log)
    if "panicked" in log:
        return f"a panic: {' '.join(log.split())[:300]}"
    if code not in fault.expected:
        return f"exit code {code}: {message}"
    pattern = fault.expected[code]
    if not pattern:
        return f"a message with exit code {code}: {message}" if message else ""
    return "" if re.search(pattern, message) else f"not the message that was expected: {message or '(none)'}"


def is_possible(fault: Fault) -> bool:
    """Whether this machine can make the fault."""
    has_tools = all(shutil.which(tool) for tool in ("unshare", "nsenter", "mount"))
    return has_tools and (fault.needs is None or fault.needs.exists())
