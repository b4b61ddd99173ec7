"""One checked measurement of one client against one server. A run that does not count raises BadRun."""

from __future__ import annotations

import signal
import subprocess
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Iterator

from shared import meter, processes
from shared.errors import BadRun
from shared.showdown import ENGINE, load_answer
from shared.store import Row
from shared.whole_run import MAX_MISCOUNT, MAX_OTHERS

from .clients import FLOOR, HTTP, MEMCACHED, TLS, Client, Task
from .servers import Memcached, Nginx, Server

SETTLE_SECONDS = 0.4
MARGIN_SECONDS = 1
"""Seconds that a client runs beyond the window."""
SYSCALL_SECONDS, STRACE_SECONDS = 1, 2
THINK_SECONDS = 5
"""The time over which the engine spreads the first requests of its connections."""
MAX_STEAL = 0.02
"""Share of the machine that the hypervisor may take during a window."""

QUIET_SECONDS = 3.0


class Disturbed(BadRun):
    """The machine was not quiet during a run."""


@dataclass
class Testbed:
    """The servers on one CPU, the CPU of the client, and the settings of all trials."""

    nginx: Nginx
    memcached: Memcached
    server_cpu: int
    client_cpu: int
    spare_cpu: int | None
    """The CPU for perf, which otherwise shares the server's."""
    directory: Path
    binaries: dict[str, str]
    connections: int
    window_seconds: float
    counters: bool
    """Whether hardware counters count the cycles; otherwise they are sampled."""
    tolerate_noise: bool

    def helper_cpu(self, client_cpu: int) -> int:
        """The CPU for perf, never the client's."""
        if self.spare_cpu is not None:
            return self.spare_cpu
        return self.server_cpu if client_cpu == self.client_cpu else self.client_cpu

    def server(self, protocol: str) -> Server:
        """The server of a protocol."""
        return self.memcached if protocol == MEMCACHED else self.nginx

    def address(self, protocol: str) -> str:
        """The address of a protocol's server."""
        return {
            HTTP: self.nginx.plain_address,
            TLS: self.nginx.tls_address,
            MEMCACHED: self.memcached.address,
        }[protocol]

    def task(self, client: Client, connections: int | None = None, seconds: int | None = None) -> Task:
        """The work of a client."""
        whole = int(self.window_seconds + SETTLE_SECONDS) + 1 + MARGIN_SECONDS + client.extra_seconds
        return Task(
            address=self.address(client.protocol),
            connections=connections or self.connections,
            seconds=seconds or whole,
            directory=self.directory,
            binaries=self.binaries,
        )


@contextmanager
def running(testbed: Testbed, server: Server, argv: list[str], cpu: int) -> Iterator[tuple[subprocess.Popen, Path]]:
    """A running client with its output in a file. It is always stopped at the end."""
    server.prepare()
    with tempfile.TemporaryDirectory(prefix="showdown-client-", dir=testbed.directory) as directory:
        output = Path(directory) / "output"
        process = processes.start(argv, {cpu}, output)
        try:
            yield process, output
        finally:
            processes.stop(process, signal.SIGKILL)


@contextmanager
def placed(testbed: Testbed, client: Client) -> Iterator[int]:
    """The client's CPU, with the server on the other one."""
    server = testbed.server(client.protocol)
    if not client.chooses_cpu_0 or testbed.client_cpu == 0:
        yield testbed.client_cpu
        return
    server.pin(testbed.client_cpu)
    try:
        yield 0
    finally:
        server.pin(testbed.server_cpu)


def cycles(testbed: Testbed, client: Client) -> Row:
    """Cycles and CPU time per request, and throughput, in a closed loop."""
    server, binary = testbed.server(client.protocol), testbed.binaries[FLOOR]
    with ExitStack() as stack:
        cpu = stack.enter_context(placed(testbed, client))
        before = server.requests()
        sampler = None if testbed.counters else meter.Sampler(cpu, testbed.helper_cpu(cpu))
        with sampler or ExitStack():
            clocks = [meter.clock(binary, cpu)]
            with running(testbed, server, client.argv(testbed.task(client)), cpu) as (process, output):
                _settle(process, output, server, before)
                if testbed.counters:
                    window, counted = meter.count(
                        process.pid, server, ["cycles:u", "cycles:k"], testbed.window_seconds, testbed.helper_cpu(cpu)
                    )
                else:
                    window = meter.observe(process.pid, server, testbed.window_seconds)
                code = meter.Code(processes.descendants(process.pid))
                claimed, spinning = _outcome(process, output, client)
            served = server.requests() - before
            clocks.append(meter.clock(binary, cpu))
    if sampler:
        found = meter.cycles_by_sampling(window, sampler.samples(), code, clocks)
    else:
        found = {"user_cycles": counted["cycles:u"], "all_cycles": sum(counted.values())}
    _check_counts(claimed, served, client.uncounted_seconds * window.requests / window.seconds)
    _check_quiet(testbed, window)
    return {
        "requests": window.requests,
        "seconds": round(window.seconds, 4),
        "requests_per_s": round(window.requests / window.seconds),
        "user_cycles": round(found["user_cycles"], 1),
        "all_cycles": round(found["all_cycles"], 1),
        "samples": found.get("samples", ""),
        "clock_hz": round(mean(clocks)),
        "client_cpu": round(window.client_cpu_s / window.seconds, 3),
        "spin_share": spinning,
        "server_cpu": round(window.server_cpu_s / window.seconds, 3),
        "others_cpu": round(window.others_cpu_s / window.seconds, 3),
        "steal": round(window.steal_s / window.seconds, 4),
    }


def syscalls(testbed: Testbed, client: Client) -> Row:
    """System calls per request, counted in two ways.

    The kernel's tracepoint does not slow the client down. strace does, so that replies wait for the client and one wait
    returns many.
    """
    server, event = testbed.server(client.protocol), "raw_syscalls:sys_enter"
    with placed(testbed, client) as cpu:
        argv = client.argv(testbed.task(client, seconds=SYSCALL_SECONDS + 2 * MARGIN_SECONDS + client.extra_seconds))
        before = server.requests()
        with running(testbed, server, argv, cpu) as (process, output):
            _settle(process, output, server, before)
            helper = testbed.helper_cpu(cpu)
            window, counted = meter.count(process.pid, server, [event], SYSCALL_SECONDS, helper)
            _outcome(process, output, client)
        _check_quiet(testbed, window)
        summary = testbed.directory / "strace"
        argv = client.argv(testbed.task(client, seconds=STRACE_SECONDS + client.extra_seconds))
        traced = ["strace", "-f", "-c", "-U", "calls,name", "-o", str(summary), *argv]
        before = server.requests() + server.stored()
        with running(testbed, server, traced, cpu) as (process, output):
            _wait(process, 60)
            client.claimed(_output(process, output, client))
        served = server.requests() + server.stored() - before
    return {
        "requests_per_s": round(window.requests / window.seconds),
        "syscalls": round(counted[event], 3),
        "strace_requests": served,
        "strace_syscalls": round(meter.parse_strace(summary.read_text()) / served, 3),
    }


def lag(testbed: Testbed, client: Client, rate: int, seconds: int) -> Row:
    """The lag of the engine in an open loop."""
    server = testbed.server(client.protocol)
    argv = [*client.argv(testbed.task(client, seconds=seconds)), "-r", str(rate), "--warmup", "1s"]
    before = server.requests()
    with running(testbed, server, argv, testbed.client_cpu) as (process, output):
        _settle(process, output, server, before)
        window = meter.observe(process.pid, server, seconds)
        _wait(process, 30)
        answer = load_answer(_output(process, output, client))
    _check_quiet(testbed, window)
    lags, response = answer["client"]["lag_us"], answer["response_time_us"]
    return {
        "rate": rate,
        "achieved_per_s": round(answer["throughput_per_s"]),
        "unsent": answer["errors"].get("unsent", 0),
        "lag_p50_us": lags["p50"],
        "lag_p99_us": lags["p99"],
        "lag_max_us": lags["max"],
        "response_time_p50_us": response["p50"],
        "response_time_p99_us": response["p99"],
        "valid": answer["valid"],
    }


def paced(testbed: Testbed, client: Client, rate: int, seconds: int) -> Row:
    """CPU time of a client in an open loop at a rate that neither side feels."""
    server = testbed.server(client.protocol)
    argv = client.paced(testbed.task(client, seconds=seconds + 2 * MARGIN_SECONDS), rate)
    before = server.requests()
    with running(testbed, server, argv, testbed.client_cpu) as (process, output):
        _settle(process, output, server, before)
        window = meter.observe(process.pid, server, seconds)
        _, spinning = _outcome(process, output, client)
    _check_quiet(testbed, window)
    return {
        "rate": rate,
        "achieved_per_s": round(window.requests / window.seconds),
        "client_cpu": round(window.client_cpu_s / window.seconds, 3),
        "spin_share": spinning,
        "server_cpu": round(window.server_cpu_s / window.seconds, 3),
        "others_cpu": round(window.others_cpu_s / window.seconds, 3),
        "steal": round(window.steal_s / window.seconds, 4),
    }


def memory(testbed: Testbed, client: Client, connections: int) -> Row:
    """Resident memory of a client whose connections have done one request each.

    Nearly all of the engine's connections then wait for their next turn. A peer has no such pause and stays busy.
    """
    server = testbed.server(client.protocol)
    argv = client.argv(testbed.task(client, connections=connections, seconds=120))
    if client.name == ENGINE:
        argv += ["--think", f"{THINK_SECONDS}s"]
    before = server.requests()
    with running(testbed, server, argv, testbed.client_cpu) as (process, output):
        deadline = time.monotonic() + 60
        while min(server.requests() - before, processes.descriptors(process.pid)) < connections:
            if process.poll() is not None or time.monotonic() > deadline:
                raise BadRun(f"{client.name} -c {connections}: {output.read_text()[-300:] or 'not every connection sent a request'}")
            time.sleep(0.2)
        time.sleep(SETTLE_SECONDS)
        return {"connections": connections, "resident_bytes": processes.resident_bytes(process.pid)}


def _settle(process: subprocess.Popen, output: Path, server: Server, before: int) -> None:
    """Waits until requests flow, and a little longer. A query for nginx's count is counted too."""
    deadline = time.monotonic() + 10
    while server.requests() - before < 1000:
        if process.poll() is not None or time.monotonic() > deadline:
            raise BadRun(f"the client ended, or sent nothing, before the window: {output.read_text().strip()[-300:]}")
        time.sleep(0.02)
    time.sleep(SETTLE_SECONDS)


def _outcome(process: subprocess.Popen, output: Path, client: Client) -> tuple[int, float | str]:
    """Waits for the end of a run, and returns the client's own count of requests, and which share of its CPU time it span."""
    if process.poll() is not None:
        raise BadRun("the client ended during the window")
    _wait(process, 30)
    text = _output(process, output, client)
    return client.claimed(text), round(client.spinning(text), 4) if client.spinning else ""


def _wait(process: subprocess.Popen, seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        raise BadRun(f"the client still runs {seconds} s after its planned end") from None


def _output(process: subprocess.Popen, output: Path, client: Client) -> str:
    text = output.read_text(errors="replace")
    if process.returncode not in client.exit_codes:
        raise BadRun(f"exit code {process.returncode}: {text.strip()[-300:]}")
    return text


def _check_counts(claimed: int, served: int, uncounted: float) -> None:
    """`uncounted`: about how many requests the client does not count, before it begins to."""
    if not -MAX_MISCOUNT * served - uncounted <= claimed - served <= MAX_MISCOUNT * served:
        raise BadRun(f"the client counts {claimed} requests, the server {served}")


def _check_quiet(testbed: Testbed, window: meter.Window) -> None:
    if testbed.tolerate_noise:
        return
    others, steal = window.others_cpu_s / window.seconds / 2, window.steal_s / window.seconds / 2
    if others > MAX_OTHERS or steal > MAX_STEAL:
        raise Disturbed(f"other programs used {others:.1%} of two CPUs, and the hypervisor {steal:.1%}")


def await_quiet(within_s: float) -> None:
    """Waits until the machine is quiet. The bench itself must not run anything meanwhile."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        before = processes.machine_seconds()["busy"]
        time.sleep(QUIET_SECONDS)
        if (processes.machine_seconds()["busy"] - before) / QUIET_SECONDS / 2 <= MAX_OTHERS:
            return
