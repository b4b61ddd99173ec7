"""The test bed: users (the engine, open loop), a real HAProxy from a private directory, and known servers as old, control and candidate."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from shared import processes
from shared.errors import ServerError

ADDED = ("control", "candidate")
"""The servers that a run adds."""
CONFIG = """
global
    stats socket {directory}/admin.sock mode 600 level admin
    log 127.0.0.1:{log} len 4096 format raw local0
    maxconn 2000
defaults
    mode http
    timeout connect 2s
    timeout client 30s
    timeout server 10s
    option redispatch
    retries 2
    log global
    log-format "%b/%s %ST %ts %Tw %Tc %Tr %Ta %rc"
frontend web
    bind 127.0.0.1:{web}
    default_backend web
backend web
    balance roundrobin
"""
PLAN = """
[balancer]
socket = "{directory}/admin.sock"
backend = "web"
log = "127.0.0.1:{log}"
lease = "{lease}"

[old]
servers = {olds}

[candidate]
name = "candidate"
address = "127.0.0.1:{candidate}"
{health}

[control]
name = "control"
address = "127.0.0.1:{control}"
{health}

[rules]
objective = "p99<100ms"
{rules}
"""
SERVICE = "--service=bimodal:2ms,200ms,1%"
"""One request in a hundred is late, at every server: an equal candidate is as late as its control."""
LOOK_S = 0.05
"""How often the balancer is asked for the candidate's state."""
PATIENCE_S = 60.0


@dataclass
class Look:
    """The candidate in the balancer at a moment."""

    at_s: float
    weight: int
    status: str
    """Empty where the balancer does not know it, or does not answer."""
    requests: int
    errors: int

    @property
    def takes(self) -> bool:
        """Whether the balancer sends it anything."""
        return self.weight > 0 and not self.status.startswith(("DOWN", "MAINT")) and self.status != ""


@dataclass
class Bed:
    """HAProxy and the servers; they end with the `with` block."""

    showdown: Path
    directory: Path
    planted: dict[str, list[str]] = field(default_factory=dict)
    """Further options of a server."""
    old_count: int = 1
    service: str = SERVICE
    """The service time of each server without an option of its own."""
    is_watched: bool = True
    """Whether the balancer is asked all the time."""
    lease: str = "2s"
    has_health: bool = True
    """Whether the plan has a page of the health of candidate and control."""
    start_server: Callable[[Bed, str], None] | None = None
    """Starts a server in place of a known one."""

    def __post_init__(self) -> None:
        self.olds = [f"old{number}" for number in range(1, self.old_count + 1)]
        self.ports = {name: processes.free_port() for name in (*self.olds, *ADDED, "web", "log")}
        self.processes: dict[str, subprocess.Popen] = {}
        self.looks: list[Look] = []
        self._is_over = threading.Event()

    def __enter__(self) -> Bed:
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for process in reversed(list(self.processes.values())):
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
            processes.stop(process)

    def _start(self) -> None:
        for name in (*self.olds, *ADDED):
            if self.start_server is not None:
                self.start_server(self, name)
                continue
            options = self.planted.get(name, [])
            if not any(option.startswith("--service=") for option in options):
                options = [self.service, *options]
            argv = [str(self.showdown), "__known-server", "--port", str(self.ports[name]), *options]
            self._run(name, argv)
        config = self.directory / "haproxy.cfg"
        lines = [f"    server {name} 127.0.0.1:{self.ports[name]} weight 64\n" for name in self.olds]
        config.write_text(CONFIG.format(directory=self.directory, **self.ports) + "".join(lines))
        self._run("haproxy", ["haproxy", "-W", "-f", str(config)])
        if self.is_watched:
            threading.Thread(target=self._watch, daemon=True).start()

    def _run(self, name: str, argv: list[str]) -> None:
        log = self.directory / f"{name}.log"
        self.await_server(name, processes.start(argv, os.sched_getaffinity(0), log), log)

    def await_server(self, name: str, process: subprocess.Popen, log: Path) -> None:
        """Takes a server that was started, and waits until it takes connections."""
        self.processes[name] = process
        port = self.ports["web" if name == "haproxy" else name]
        processes.await_answer(name, process, log, lambda: socket.create_connection(("127.0.0.1", port), 1).close())

    def plan(self, **rules: str | list[int]) -> Path:
        """Writes the plan of a rollout with these rules."""
        path = self.directory / "plan.toml"
        lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in rules.items())
        health = 'health = "/"' if self.has_health else ""
        path.write_text(PLAN.format(health=health, directory=self.directory, rules=lines, olds=json.dumps(self.olds), lease=self.lease, **self.ports))
        return path

    def users(self, rate: int, seconds: int) -> None:
        """Starts the users."""
        argv = [str(self.showdown), "load", f"http://127.0.0.1:{self.ports['web']}/", "-r", str(rate), "-c", "64", "-d", f"{seconds}s", "--format", "json"]
        with (self.directory / "users.json").open("w") as output:
            self.processes["users"] = processes.start(argv, os.sched_getaffinity(0), self.directory / "users.log", stdout=output)

    def failed(self) -> tuple[int, int]:
        """Ends the users; returns their requests and how many failed, as the users count."""
        users = self.processes["users"]
        processes.stop(users, signal.SIGINT, PATIENCE_S)
        text = (self.directory / "users.json").read_text()
        answer = json.loads(text[text.index("{") : text.rindex("}") + 1])
        failed = sum(number for kind, number in answer["errors"].items() if kind != "unsent")
        return sum(operation["requests"] for operation in answer["operations"]), failed

    def ask(self, command: str) -> str:
        """A command to the admin socket, and its answer."""
        with socket.socket(socket.AF_UNIX) as admin:
            admin.settimeout(1)
            admin.connect(str(self.directory / "admin.sock"))
            admin.sendall(f"{command}\n".encode())
            answer = b""
            while chunk := admin.recv(65536):
                answer += chunk
        return answer.decode()

    def worker(self) -> int:
        """The process of HAProxy that serves."""
        lines = dict(line.split(": ", 1) for line in self.ask("show info").splitlines() if ": " in line)
        return int(lines["Pid"])

    def look(self) -> Look:
        """The candidate now."""
        at_s = time.monotonic()
        try:
            return candidate_of(self.ask("show stat"), at_s)
        except OSError:
            return Look(at_s, 0, "", 0, 0)

    def await_look(self, is_wanted: Callable[[Look], bool], within_s: float) -> Look | None:
        """The first look of now or later that is as wanted."""
        end = time.monotonic() + within_s
        while time.monotonic() < end:
            if is_wanted(look := self.look()):
                return look
            time.sleep(LOOK_S)
        return None

    def _watch(self) -> None:
        while not self._is_over.wait(LOOK_S):
            self.looks.append(self.look())


def candidate_of(csv_text: str, at_s: float) -> Look:
    """The candidate's row of `show stat`."""
    for row in csv.DictReader(io.StringIO(csv_text.removeprefix("# "))):
        if (row["pxname"], row["svname"]) == ("web", "candidate"):
            errors = sum(int(row[name] or 0) for name in ("econ", "eresp", "hrsp_5xx"))
            return Look(at_s, int(row["weight"] or 0), row["status"], int(row["stot"] or 0), errors)
    return Look(at_s, 0, "", 0, 0)


def lease_of(run: int) -> int | None:
    """The process of the lease of a run."""
    for child in processes.descendants(run)[1:]:
        try:
            if Path(f"/proc/{child}/comm").read_text().strip() == "sd-lease":
                return child
        except OSError:
            pass
    return None


def require(found: object, what: str) -> None:
    """Stops the case if the bed is not as it should be."""
    if not found:
        raise ServerError(what)
