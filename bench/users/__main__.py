"""The command line: `python3 -m users --help`."""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from shared import nginx, processes, whole_run
from shared.errors import BadRun
from shared.markdown import command
from shared.showdown import ENGINE

from . import report, scenario
from .clients import CLIENTS, K6, LOCUST, Client, Task

MOST_USERS = max(users for client in CLIENTS for users in client.users)
EXIT_CODES = (0, 3)
"""3: the engine says that its measurement does not count, which its rules explain."""
HTTP = """
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        keepalive_requests 100000000; keepalive_timeout 600s; tcp_nodelay on;
        location = /static {{ return 200 "{body}"; }}
        location / {{ add_header Set-Cookie "{cookie}"; return 200 "{body}"; }}
    }}
"""


def main() -> int:
    """Measures all rounds and writes the page."""
    parser = whole_run.common_options("bench-users", "Users with sessions: the engine, Locust and k6, interleaved.", 3)
    parser.add_argument("--peers", type=Path, help="the directory with Locust and k6")
    parser.add_argument("--seconds", type=int, default=15, help="measured length of a run [%(default)s]")
    parser.add_argument("--server-cpu", type=int, default=0, help="CPU of the server [%(default)s]")
    parser.add_argument("--client-cpu", type=int, default=1, help="CPU of the client [%(default)s]")
    parser.add_argument("--tolerate-noise", action="store_true", help="count runs on a busy machine too: for trying things out")
    options = whole_run.parsed(parser, "engine", "peers")
    missing = None if shutil.which("nginx") else "not installed: nginx: run scripts/install-packages bench"
    return whole_run.main(
        "bench-users", options.report_only, missing, lambda: report.PAGE.write(options.results), lambda: _measure(options)
    )


def _measure(options: argparse.Namespace) -> Path:
    # Each user has a connection, and both ends are on this machine.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4 * MOST_USERS, hard), hard))
    peers = {name: str(options.peers.resolve() / name) for name in (LOCUST, K6)}
    binaries = {ENGINE: str(options.engine.resolve()), **peers}
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="showdown-users-")))
        port, status = processes.free_port(), processes.free_port()
        http = HTTP.format(port=port, body="x" * 1024, cookie=scenario.COOKIE)
        main_lines = f"worker_processes 1; worker_rlimit_nofile {4 * MOST_USERS};"
        server = nginx.start(directory, main_lines, 2 * MOST_USERS, http, status, {options.server_cpu})
        stack.callback(processes.stop, server)
        processes.await_answer("nginx", server, nginx.log_of(directory), lambda: nginx.counts(status))
        turns = [
            (client, Task(users, options.seconds, port, directory, binaries))
            for client in CLIENTS
            for users in client.users
        ]

        def run(turn: tuple[Client, Task]) -> dict[str, object]:
            return _costs(*turn, status, options)

        rows = whole_run.in_rounds(turns, options, run, lambda turn: f"{turn[0].name}, {turn[1].users} users")
        settings = {
            **whole_run.machine.facts(whole_run.REPOSITORY, options.engine),
            "packages": ", ".join(f"{name} {version}" for name, version in _versions(binaries).items()),
            "rounds": options.rounds,
            "seconds of a run": options.seconds,
            "seed": options.seed,
            "noise": "tolerated" if options.tolerate_noise else "refused",
            "commands": [command([client.name, *client.argv(task)[1:]], directory) for client, task in turns],
        }
    return report.PAGE.save(rows, settings, options.results)


def _versions(binaries: dict[str, str]) -> dict[str, str]:
    versions = {"nginx": whole_run.machine.version("nginx")}
    for name in (LOCUST, K6):
        versions[name] = processes.ask([binaries[name], "--version"], None).stdout.split()[1]
    return versions


def _costs(client: Client, task: Task, status: int, options: argparse.Namespace) -> dict[str, object]:
    """CPU time and memory of one client's whole run."""
    output = task.directory / "output"
    output.unlink(missing_ok=True)
    before, busy_before, began = nginx.counts(status), processes.machine_seconds()["busy"], time.monotonic()
    environment = os.environ | client.environment(task)
    # The output has the answer; warnings go elsewhere.
    with (task.directory / "warnings").open("wb") as warnings, output.open("wb") as answer:
        process = processes.start(client.argv(task), {options.client_cpu}, output, stdout=answer, stderr=warnings, env=environment)
        _, status_code, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status_code)
    seconds = time.monotonic() - began
    text = output.read_text(errors="replace")
    if process.returncode not in EXIT_CODES:
        raise BadRun(f"{client.name}: exit code {process.returncode}: {(task.directory / 'warnings').read_text()[-300:]}")
    figures = client.figures(text)
    served = nginx.counts(status)[REQUESTS_SERVED] - before[REQUESTS_SERVED]
    busy = processes.machine_seconds()["busy"] - busy_before
    cpu = usage.ru_utime + usage.ru_stime
    working = cpu * (1 - figures.spinning)
    others = max(0.0, busy - cpu - seconds) / seconds / 2
    if others > whole_run.MAX_OTHERS and not options.tolerate_noise:
        raise BadRun(f"other programs used {others:.1%} of two CPUs")
    return {
        "client": client.name,
        "users": task.users,
        "seconds": round(seconds, 3),
        "requests": served,
        "counted": figures.requests,
        "requests_per_s": round(served / seconds, 1),
        "cpu_us": round(working / served * 1e6, 2),
        "client_cpu": round(working / seconds, 3),
        "memory_kib": usage.ru_maxrss,
        "kib_per_user": round(usage.ru_maxrss / task.users, 2),
    }


REQUESTS_SERVED = 3
"""The place of the requests in nginx's counts."""

if __name__ == "__main__":
    whole_run.exit_with(main)
