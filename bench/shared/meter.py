"""Measures a running client: cycles in user mode and in all, CPU time, system calls.

With hardware counters, `perf stat` counts cycles. Most virtual machines have none. There the CPU's clock samples the CPU:
user cycles are the share of the client's samples in user mode, times the client's CPU time, times the cycles in a second of
CPU time. `floor clock` measures these cycles under the same sampler, right before and right after the run.

The kernel leaves a system call with interrupts off. A sample that is due meanwhile is taken at the next instruction of the
program, so a sample right behind a `syscall` instruction counts as the kernel's.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from . import processes

SAMPLES_PER_SECOND = 15_000
CLOCK_SECONDS = 0.15
KERNEL_HALF = 1 << 63
"""Addresses from here on are the kernel's."""
SYSCALL_INSTRUCTION = b"\x0f\x05"
"""On x86-64."""


class MeterError(Exception):
    """Measuring is not possible here; the message has the remedy."""


@dataclass(frozen=True)
class Sample:
    """The process that ran on the CPU at one tick of the sampler."""

    pid: int
    at_s: float
    """In the time of CLOCK_MONOTONIC, as time.monotonic() has it."""
    address: int
    """The address of the next instruction."""


class Code:
    """The mapped files of processes, whose instructions can be read after the processes have ended."""

    def __init__(self, pids: list[int]):
        self._maps = {pid: parse_maps(Path(f"/proc/{pid}/maps").read_text()) for pid in pids}
        self._known: dict[tuple[int, int], bool] = {}

    def is_behind_syscall(self, pid: int, address: int) -> bool:
        """Whether the instruction before `address` is a system call."""
        key = (pid, address)
        if key not in self._known:
            self._known[key] = self._bytes_before(pid, address) == SYSCALL_INSTRUCTION
        return self._known[key]

    def _bytes_before(self, pid: int, address: int) -> bytes:
        for begin, end, offset, path in self._maps[pid]:
            if begin < address < end:
                with open(path, "rb") as file:
                    file.seek(offset + address - begin - len(SYSCALL_INSTRUCTION))
                    return file.read(len(SYSCALL_INSTRUCTION))
        return b""

    def pids(self) -> set[int]:
        """The ids of the processes."""
        return set(self._maps)


def parse_maps(text: str) -> list[tuple[int, int, int, str]]:
    """Begin, end, file offset and path of each executable mapping of a file that is still there (proc(5), maps)."""
    mappings = []
    for line in text.splitlines():
        span, rights, offset, _, _, *path = line.split(maxsplit=5)
        if "x" in rights and path and path[0].startswith("/") and not path[0].endswith(" (deleted)"):
            begin, end = (int(address, 16) for address in span.split("-"))
            mappings.append((begin, end, int(offset, 16), path[0]))
    return mappings


def can_count(event: str) -> bool:
    """Whether `perf stat` can count an event on this machine."""
    argv = ["perf", "stat", "-x,", "-e", event, "true"]
    return event in parse_stat(subprocess.run(argv, capture_output=True, text=True, check=False).stderr)


def parse_stat(output: str) -> dict[str, float]:
    """Counts by event from `perf stat -x,`, without unsupported events."""
    counts = {}
    for line in output.splitlines():
        fields = line.split(",")
        if len(fields) > 3 and fields[0].replace(".", "", 1).isdigit():
            counts[fields[2]] = float(fields[0])
    return counts


def parse_strace(summary: str) -> int:
    """The total of `strace -c -U calls,name`, from its last line."""
    last = summary.strip().splitlines()[-1].split()
    if last[-1:] != ["total"]:
        raise MeterError(f"strace -c ends with '{' '.join(last)}', not with a total")
    return int(last[0])


class Perf:
    """A perf process that starts and stops counting on command, and acknowledges each command."""

    def __init__(self, argv: list[str], cpu: int, log: Path):
        commands, acknowledgements = os.pipe(), os.pipe()
        inherited = (commands[0], acknowledgements[1])
        control = ["-D", "-1", "--control", f"fd:{inherited[0]},{inherited[1]}"]
        self._log = log
        self._process = processes.start([*argv, *control], {cpu}, log, pass_fds=inherited)
        for end in inherited:
            os.close(end)
        self._commands, self._acknowledgements = commands[1], acknowledgements[0]

    def send(self, command: str) -> None:
        """`enable` or `disable`."""
        try:
            os.write(self._commands, f"{command}\n".encode())
            answer = os.read(self._acknowledgements, 16)
        except BrokenPipeError:
            answer = b""
        if b"ack" not in answer:
            raise MeterError(f"perf cannot measure: {self._log.read_text().strip()[-300:]}: run as root")

    def stop(self) -> None:
        """Ends perf, so that it writes its data."""
        processes.stop(self._process, signal.SIGINT)
        os.close(self._commands)
        os.close(self._acknowledgements)


class Sampler:
    """Samples one CPU, whatever runs there, from entry to exit of the `with` block."""

    def __init__(self, cpu: int, helper_cpu: int):
        self._cpu, self._helper_cpu = cpu, helper_cpu

    def __enter__(self) -> Sampler:
        self._directory = tempfile.TemporaryDirectory(prefix="showdown-samples-")
        directory = Path(self._directory.name)
        self._data = directory / "perf.data"
        argv = ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(SAMPLES_PER_SECOND), "-C", str(self._cpu)]
        argv += ["-k", "CLOCK_MONOTONIC", "-N", "-B", "-m", "8M", "-o", str(self._data)]
        self._perf = Perf(argv, self._helper_cpu, directory / "perf.log")
        self._perf.send("enable")
        return self

    def __exit__(self, *_) -> None:
        self._perf.stop()

    def samples(self) -> list[Sample]:
        """All samples. Only after the `with` block."""
        argv = ["perf", "script", "-i", str(self._data), "-F", "pid,time,ip", "--ns"]
        output = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
        self._directory.cleanup()
        return parse_samples(output)


def parse_samples(output: str) -> list[Sample]:
    """Lines of `perf script -F pid,time,ip --ns`: `  812  1043.123456789:  ffffffff81234567`."""
    samples = []
    for line in output.splitlines():
        pid, at, address = line.split()
        samples.append(Sample(int(pid), float(at.rstrip(":")), int(address, 16)))
    return samples


def clock(floor: str, cpu: int) -> float:
    """Cycles in a second of CPU time, now, on a CPU."""
    argv = ["taskset", "-c", str(cpu), floor, "clock", str(CLOCK_SECONDS)]
    output = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    return json.loads(output)["cycles_per_s"]


@dataclass
class Window:
    """A period in the middle of a run, after the client has started and before it ends."""

    begin_s: float
    end_s: float
    requests: int
    """By the server's count."""
    client_cpu_s: float
    server_cpu_s: float
    others_cpu_s: float
    """CPU time of all other programs."""
    steal_s: float

    @property
    def seconds(self) -> float:
        """The length of the window."""
        return self.end_s - self.begin_s


def observe(client_pid: int, server, seconds: float) -> Window:
    """What client, server and machine use in the next seconds."""

    def snapshot():
        requests = server.requests()
        now = time.monotonic()
        return now, requests, processes.cpu_seconds(client_pid), server.cpu_seconds(), processes.machine_seconds()

    before = snapshot()
    time.sleep(seconds)
    after = snapshot()
    client, served = after[2] - before[2], after[3] - before[3]
    busy, steal = (after[4][kind] - before[4][kind] for kind in ("busy", "steal"))
    return Window(
        begin_s=before[0],
        end_s=after[0],
        requests=after[1] - before[1],
        client_cpu_s=client,
        server_cpu_s=served,
        others_cpu_s=max(0.0, busy - client - served),
        steal_s=steal,
    )


def count(pid: int, server, events: list[str], seconds: float, helper_cpu: int) -> tuple[Window, dict[str, float]]:
    """Events per request in all threads of a running client, counted by `perf stat`."""
    with tempfile.TemporaryDirectory(prefix="showdown-counts-") as directory:
        log = Path(directory) / "perf.log"
        argv = ["perf", "stat", "-x,", *(word for event in events for word in ("-e", event)), "-p", str(pid)]
        perf = Perf(argv, helper_cpu, log)
        try:
            perf.send("enable")
            window = observe(pid, server, seconds)
            perf.send("disable")
        finally:
            perf.stop()
        counts = parse_stat(log.read_text())
    missing = [event for event in events if event not in counts]
    if missing:
        raise MeterError(f"perf stat cannot count {', '.join(missing)}: run as root")
    return window, {event: counts[event] / window.requests for event in events}


def cycles_by_sampling(
    window: Window, samples: list[Sample], code: Code, clocks_hz: list[float]
) -> dict[str, float]:
    """Cycles per request of a client, from the samples of a window."""
    of_client = [s for s in samples if s.pid in code.pids() and window.begin_s <= s.at_s <= window.end_s]
    if not of_client:
        raise MeterError("no samples of the client: did it run on another CPU?")
    in_user_mode = [s for s in of_client if s.address < KERNEL_HALF and not code.is_behind_syscall(s.pid, s.address)]
    all_cycles = window.client_cpu_s * mean(clocks_hz) / window.requests
    user_cycles = all_cycles * len(in_user_mode) / len(of_client)
    return {"user_cycles": user_cycles, "all_cycles": all_cycles, "samples": len(of_client)}
