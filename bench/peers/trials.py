"""One measurement of one client against one server, checked; a run that does not count raises BadRun."""

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

from . import clients, meter, processes
from .clients import HTTP, MEMCACHED, TLS, BadRun, Client, Task
from .servers import Memcached, Nginx, Server

SETTLE_SECONDS = 0.4
MARGIN_SECONDS = 1
"""A client runs so much longer than the window needs."""
SYSCALL_SECONDS, STRACE_SECONDS = 1, 2
THINK_SECONDS = 5
"""The engine spreads the first requests of its connections over this time."""
MOST_OF_OTHERS = 0.04
"""Share of the machine that everything else may use during a window."""
MOST_STEAL = 0.02
MOST_MISCOUNT = 0.02
"""Share by which a client's account of its requests may differ from the server's."""

QUIET_SECONDS = 3.0

Row = dict[str, object]


class Disturbed(BadRun):
    """The machine was not quiet during a run."""


@dataclass
class Ring:
    """Where it happens: servers on one CPU, the client on another."""

    nginx: Nginx
    memcached: Memcached
    server_cpu: int
    client_cpu: int
    spare_cpu: int | None
    """For perf, which otherwise shares the server's."""
    directory: Path
    binaries: dict[str, str]
    connections: int
    window_seconds: float
    counters: bool
    """Hardware counters rather than samples."""
    tolerate_noise: bool

    def helper_cpu(self, client_cpu: int) -> int:
        """Where perf runs: never beside the client."""
        if self.spare_cpu is not None:
            return self.spare_cpu
        return self.server_cpu if client_cpu == self.client_cpu else self.client_cpu

    def server(self, protocol: str) -> Server:
        """Who serves a protocol."""
        return self.memcached if protocol == MEMCACHED else self.nginx

    def address(self, protocol: str) -> str:
        """Where a protocol is served."""
        return {
            HTTP: self.nginx.plain_address,
            TLS: self.nginx.tls_address,
            MEMCACHED: self.memcached.address,
        }[protocol]

    def task(self, client: Client, connections: int | None = None, seconds: int | None = None) -> Task:
        """The common task, for a client."""
        whole = int(self.window_seconds + SETTLE_SECONDS) + 1 + MARGIN_SECONDS + client.extra_seconds
        return Task(
            address=self.address(client.protocol),
            connections=connections or self.connections,
            seconds=seconds or whole,
            directory=self.directory,
            binaries=self.binaries,
        )


@contextmanager
def running(ring: Ring, server: Server, argv: list[str], cpu: int) -> Iterator[tuple[subprocess.Popen, Path]]:
    """A client with its output in a file, ended at the end whatever happens."""
    server.prepare()
    with tempfile.TemporaryDirectory(prefix="showdown-client-", dir=ring.directory) as directory:
        output = Path(directory) / "output"
        process = processes.start(argv, {cpu}, output)
        try:
            yield process, output
        finally:
            processes.stop(process, signal.SIGKILL)


@contextmanager
def placed(ring: Ring, client: Client) -> Iterator[int]:
    """The client's CPU, with its server on the other one."""
    server = ring.server(client.protocol)
    if not client.chooses_cpu_0 or ring.client_cpu == 0:
        yield ring.client_cpu
        return
    server.pin(ring.client_cpu)
    try:
        yield 0
    finally:
        server.pin(ring.server_cpu)


def cycles(ring: Ring, client: Client) -> Row:
    """Cycles and CPU time a request, and throughput, in a closed loop."""
    server, binary = ring.server(client.protocol), ring.binaries[clients.FLOOR]
    with ExitStack() as stack:
        cpu = stack.enter_context(placed(ring, client))
        before = server.requests()
        sampler = None if ring.counters else meter.Sampler(cpu, ring.helper_cpu(cpu))
        with sampler or ExitStack():
            clocks = [meter.clock(binary, cpu)]
            with running(ring, server, client.argv(ring.task(client)), cpu) as (process, output):
                _settle(process, output, server, before)
                if ring.counters:
                    window, counted = meter.count(
                        process.pid, server, ["cycles:u", "cycles:k"], ring.window_seconds, ring.helper_cpu(cpu)
                    )
                else:
                    window = meter.watch(process.pid, server, ring.window_seconds)
                code = meter.Code(processes.descendants(process.pid))
                claimed = _outcome(process, output, client)
            served = server.requests() - before
            clocks.append(meter.clock(binary, cpu))
    if sampler:
        found = meter.cycles_by_sampling(window, sampler.samples(), code, clocks)
    else:
        found = {"user_cycles": counted["cycles:u"], "all_cycles": sum(counted.values())}
    _check_counts(claimed, served)
    _check_quiet(ring, window)
    return {
        "requests": window.requests,
        "seconds": round(window.seconds, 4),
        "requests_per_s": round(window.requests / window.seconds),
        "user_cycles": round(found["user_cycles"], 1),
        "all_cycles": round(found["all_cycles"], 1),
        "samples": found.get("samples", ""),
        "clock_hz": round(mean(clocks)),
        "client_cpu": round(window.client_cpu_s / window.seconds, 3),
        "server_cpu": round(window.server_cpu_s / window.seconds, 3),
        "others_cpu": round(window.others_cpu_s / window.seconds, 3),
        "steal": round(window.steal_s / window.seconds, 4),
    }


def syscalls(ring: Ring, client: Client) -> Row:
    """System calls a request, counted in two ways that differ in who is the limit.

    The kernel's tracepoint leaves the client its speed. strace slows it, so that replies wait for the client
    and one wait finds many.
    """
    server, event = ring.server(client.protocol), "raw_syscalls:sys_enter"
    with placed(ring, client) as cpu:
        argv = client.argv(ring.task(client, seconds=SYSCALL_SECONDS + 2 * MARGIN_SECONDS + client.extra_seconds))
        before = server.requests()
        with running(ring, server, argv, cpu) as (process, output):
            _settle(process, output, server, before)
            helper = ring.helper_cpu(cpu)
            window, counted = meter.count(process.pid, server, [event], SYSCALL_SECONDS, helper)
            _outcome(process, output, client)
        _check_quiet(ring, window)
        summary = ring.directory / "strace"
        argv = client.argv(ring.task(client, seconds=STRACE_SECONDS + client.extra_seconds))
        traced = ["strace", "-f", "-c", "-U", "calls,name", "-o", str(summary), *argv]
        before = server.requests() + server.stored()
        with running(ring, server, traced, cpu) as (process, output):
            _wait(process, 60)
            client.claimed(_output(process, output, client))
        served = server.requests() + server.stored() - before
    return {
        "requests_per_s": round(window.requests / window.seconds),
        "syscalls": round(counted[event], 3),
        "strace_requests": served,
        "strace_syscalls": round(meter.parse_strace(summary.read_text()) / served, 3),
    }


def lag(ring: Ring, client: Client, rate: int, seconds: int) -> Row:
    """How late the engine sends in an open loop."""
    server = ring.server(client.protocol)
    argv = [*client.argv(ring.task(client, seconds=seconds)), "-r", str(rate), "--warmup", "1s"]
    before = server.requests()
    with running(ring, server, argv, ring.client_cpu) as (process, output):
        _settle(process, output, server, before)
        window = meter.watch(process.pid, server, seconds)
        _wait(process, 30)
        answer = clients.engine_answer(_output(process, output, client))
    _check_quiet(ring, window)
    lags, response = answer["client"]["lag_us"], answer["response_time_us"]
    return {
        "rate": rate,
        "achieved_per_s": round(answer["throughput_per_s"]),
        "unsent": answer["errors"].get("unsent", 0),
        "lag_p50_us": lags["p50"],
        "lag_p99_us": lags["p99"],
        "lag_max_us": lags["max"],
        "response_time_p50_us": response["p50"],
        "response_p99_us": response["p99"],
        "valid": answer["valid"],
    }


def memory(ring: Ring, client: Client, connections: int) -> Row:
    """Resident memory of a client whose connections have done a request each. The engine's then wait for their
    next turn, all but a few; a peer knows no such pause and goes on."""
    server = ring.server(client.protocol)
    argv = client.argv(ring.task(client, connections=connections, seconds=120))
    if client.name == clients.ENGINE:
        argv += ["--think", f"{THINK_SECONDS}s"]
    before = server.requests()
    with running(ring, server, argv, ring.client_cpu) as (process, output):
        deadline = time.monotonic() + 60
        while min(server.requests() - before, processes.descriptors(process.pid)) < connections:
            if process.poll() is not None or time.monotonic() > deadline:
                raise BadRun(f"{client.name} -c {connections}: {output.read_text()[-300:] or 'no request of each'}")
            time.sleep(0.2)
        time.sleep(SETTLE_SECONDS)
        return {"connections": connections, "resident_bytes": processes.resident_bytes(process.pid)}


def _settle(process: subprocess.Popen, output: Path, server: Server, before: int) -> None:
    """Waits until requests flow, and a little longer. Asking nginx for its count counts as well."""
    deadline = time.monotonic() + 10
    while server.requests() - before < 1000:
        if process.poll() is not None or time.monotonic() > deadline:
            raise BadRun(f"ended, or sent nothing, before it was measured: {output.read_text().strip()[-300:]}")
        time.sleep(0.02)
    time.sleep(SETTLE_SECONDS)


def _outcome(process: subprocess.Popen, output: Path, client: Client) -> int:
    """Waits for the end of a run that was watched, and returns the requests that the client claims."""
    if process.poll() is not None:
        raise BadRun("ended while it was measured")
    _wait(process, 30)
    return client.claimed(_output(process, output, client))


def _wait(process: subprocess.Popen, seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        raise BadRun(f"still runs {seconds} s after its end was due") from None


def _output(process: subprocess.Popen, output: Path, client: Client) -> str:
    text = output.read_text(errors="replace")
    if process.returncode not in client.exit_codes:
        raise BadRun(f"exit code {process.returncode}: {text.strip()[-300:]}")
    return text


def _check_counts(claimed: int, served: int) -> None:
    if abs(claimed - served) > MOST_MISCOUNT * served:
        raise BadRun(f"the client counts {claimed} requests, the server {served}")


def _check_quiet(ring: Ring, window: meter.Window) -> None:
    if ring.tolerate_noise:
        return
    others, steal = window.others_cpu_s / window.seconds / 2, window.steal_s / window.seconds / 2
    if others > MOST_OF_OTHERS or steal > MOST_STEAL:
        raise Disturbed(f"others used {others:.1%} of two CPUs, {steal:.1%} was stolen")


def await_quiet(within_s: float) -> None:
    """Waits until nothing else runs for a while, at most so long. Nothing of ours may run."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        before = processes.machine_seconds()["busy"]
        time.sleep(QUIET_SECONDS)
        if (processes.machine_seconds()["busy"] - before) / QUIET_SECONDS / 2 <= MOST_OF_OTHERS:
            return
