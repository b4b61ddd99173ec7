"""The other programs: each kind of company as processes of this bench, which end with the `with` block, with all that they have started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

BURSTS = """
import random, time
while True:
    until = time.monotonic() + random.expovariate(1 / 0.4)
    while time.monotonic() < until: pass
    time.sleep(random.expovariate(1 / 0.6))
"""
STEADY = "while True: pass"
EACH_SECOND = """
import time
while True:
    until = time.monotonic() + 0.1
    while time.monotonic() < until: pass
    time.sleep(1 - time.time() % 1)
"""
MEMORY = """
a, b = bytearray(256 << 20), bytearray(256 << 20)
while True: b[:] = a
"""
FLUSHES = """
import os, sys
with open(os.path.join(sys.argv[1], "flushed"), "wb", buffering=0) as file:
    while True:
        file.seek(0); file.write(os.urandom(1 << 20)); os.fsync(file.fileno())
"""
SOURCE = """
#include <map>
#include <regex>
#include <string>
#include <vector>
template <int N> struct Deep {{ std::map<std::string, std::vector<Deep<N - 1>>> below; std::regex of{{"a*b"}}; }};
template <> struct Deep<0> {{ int leaf = {job}; }};
int main() {{ Deep<12> deep; return static_cast<int>(deep.below.size()); }}
"""
COMPILE = """
import subprocess, sys
while True: subprocess.run(["g++", "-O2", "-c", "-o", sys.argv[1] + ".o", sys.argv[1]], check=True)
"""
STOLEN = """
import os, random, time
os.nice(-20)
while True:
    until = time.monotonic() + random.uniform(0.002, 0.02)
    while time.monotonic() < until: pass
    time.sleep(random.expovariate(1 / 0.1))
"""


@dataclass(frozen=True)
class Kind:
    """One kind of company."""

    name: str
    program: str
    """Python, run with the path of a scratch directory, or of a source file."""
    processes: int
    what: str
    pinned: bool = False
    """Each process on a CPU of its own; otherwise wherever the kernel puts it."""
    needs_root: bool = False


KINDS = [
    Kind("quiet", "", 0, "no other program"),
    Kind("bursts", BURSTS, 2, "two programs that use a CPU for 0.4 s and sleep for 0.6 s, in the mean"),
    Kind("steady", STEADY, 2, "a program on each of two CPUs that never sleeps"),
    Kind("compile", COMPILE, 2, "a C++ compiler, two at a time"),
    Kind("each-second", EACH_SECOND, 2, "two programs that use a CPU for the first 100 ms of each second"),
    Kind("memory", MEMORY, 1, "a program that copies 256 MB again and again"),
    Kind("flushes", FLUSHES, 1, "a program that writes 1 MB and flushes it, again and again"),
    Kind("stolen", STOLEN, 2, "bursts of 2 to 20 ms on each CPU at the highest priority, as a hypervisor takes time", pinned=True, needs_root=True),
]


START_S = 0.3
"""A program that cannot run, such as one that needs root, has ended by then."""


@contextmanager
def beside(kind: Kind) -> Iterator[None]:
    """Runs the other programs. A program that ends before the block does is an error: what was measured had less company. One that cannot
    run is an error before the block begins."""
    with tempfile.TemporaryDirectory(prefix="showdown-company-") as scratch:
        processes = [_start(kind, number, Path(scratch)) for number in range(kind.processes)]
        try:
            if processes:
                time.sleep(START_S)
            _check_alive(kind, processes)
            yield
            _check_alive(kind, processes)
        finally:
            for process in processes:
                _end(process)


def _check_alive(kind: Kind, processes: list[subprocess.Popen]) -> None:
    for process in processes:
        if process.poll() is not None:
            root = "; it needs root" if kind.needs_root and os.geteuid() != 0 else ""
            raise RuntimeError(f"a program of the company {kind.name} has ended early, with status {process.returncode}{root}")


def _end(process: subprocess.Popen) -> None:
    """Ends a program with all that it has started, such as a compiler: what lives on would be beside the next comparison."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    while _has_members(process.pid):
        time.sleep(0.01)


def _has_members(group: int) -> bool:
    """Whether a process of the group runs. Those that have ended and were not waited for do not."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] not in "ZX" and int(fields[2]) == group:
            return True
    return False


def _start(kind: Kind, number: int, scratch: Path) -> subprocess.Popen:
    argument = scratch
    if kind.program == COMPILE:
        argument = scratch / f"job{number}.cpp"
        argument.write_text(SOURCE.format(job=number))
    cpus = {number % (os.cpu_count() or 1)} if kind.pinned else os.sched_getaffinity(0)
    argv = [sys.executable, "-c", kind.program, str(argument)]
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=lambda: os.sched_setaffinity(0, cpus))
