"""A server of the harness in a directory of its own, and controllers with stand-ins for `showdown`, each on a host of its own name."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from shared import processes
from shared.errors import ServerError

from .database import Postgres

PATIENCE_S = 120.0
"""How long a part may take on a busy machine before the bench gives up."""
START_S = 60.0


@dataclass(frozen=True)
class Programs:
    """What the bench starts."""

    showdown: Path
    stand_in: Path

    def of_controllers(self, folder: Path) -> Path:
        """A folder with the controller, and the stand-in under the name of the program that a controller starts; the path of the
        controller."""
        folder.mkdir(exist_ok=True)
        harness = folder / "showdown-harness"
        if not harness.exists():
            shutil.copy(self.showdown.with_name("showdown-harness"), harness)
            shutil.copy(self.stand_in, folder / "showdown")
        return harness


class Api:
    """Calls of one server with the secret of its owner, on a connection that stays open."""

    def __init__(self, runs: Path, file: str = "server.json"):
        self._file = runs / ".harness" / file
        self._connection: http.client.HTTPConnection | None = None

    def access(self) -> tuple[str, str]:
        """Address and secret, as the server has published them last."""
        access = json.loads(self._file.read_text())
        return access["url"].removeprefix("http://"), access["token"]

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """Status and body. A connection of an earlier server raises OSError or HTTPException."""
        address, token = self.access()
        if self._connection is None or f"{self._connection.host}:{self._connection.port}" != address:
            self._connection = http.client.HTTPConnection(address, timeout=PATIENCE_S)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        try:
            self._connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = self._connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            self._connection = None
            raise

    def call(self, method: str, path: str, body: object = None) -> object:
        """The JSON of a good answer of the API."""
        status, text = self.ask(method, f"/api/v1/{path}", body)
        if status >= 300:
            raise ServerError(f"{method} {path}: {status} {text[:300]!r}")
        return json.loads(text) if text else None

    def until_called(self, method: str, path: str, body: object = None) -> object:
        """The same of a server that may be killed meanwhile: it is asked again."""
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                status, text = self.ask(method, f"/api/v1/{path}", body)
                if status < 500 and status != 401:
                    if status >= 300:
                        raise ServerError(f"{method} {path}: {status} {text[:300]!r}")
                    return json.loads(text) if text else None
            except (OSError, http.client.HTTPException, ValueError):
                pass
            if time.monotonic() > end:
                raise ServerError(f"{method} {path}: no answer for {PATIENCE_S:.0f} s")
            time.sleep(0.02)


@dataclass
class Bed:
    """The server and its controllers. All of them end with the `with` statement."""

    programs: Programs
    home: Path
    database: Postgres | None
    environment: dict[str, str] = field(default_factory=dict)
    server: subprocess.Popen | None = None
    controllers: dict[int, subprocess.Popen] = field(default_factory=dict)

    @property
    def runs(self) -> Path:
        """The archive of the server."""
        return self.home / "runs"

    @property
    def log(self) -> Path:
        """What the stand-ins say."""
        return self.home / "stand-ins"

    def __enter__(self) -> Bed:
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "locks").mkdir(exist_ok=True)
        self.log.touch()
        self.start_server()
        return self

    def __exit__(self, *_error) -> None:
        for controller in self.controllers.values():
            if controller.poll() is None:
                controller.terminate()
        for controller in self.controllers.values():
            processes.stop(controller, patience_s=20.0)
        if self.server:
            processes.stop(self.server, patience_s=30.0)

    def start_server(self) -> float:
        """Starts it; returns how many milliseconds it took until it answered."""
        log = self.home / "server.log"
        argv = [str(self.programs.showdown.resolve()), "serve", "--listen", "127.0.0.1:0", "--no-controller"]
        if self.database:
            argv += ["--database", self.database.url]
        began = time.perf_counter()
        published = self.runs / ".harness/server.json"
        before = published.read_bytes() if published.exists() else b""
        with log.open("ab") as sink:
            self.server = subprocess.Popen(argv, cwd=self.home, stdout=sink, stderr=sink, stdin=subprocess.DEVNULL)

        def ask() -> None:
            if not published.exists() or published.read_bytes() == before:
                raise ConnectionError("not yet")
            status, _ = Api(self.runs).ask("GET", "/healthz")
            if status != http.client.OK:
                raise ConnectionError(f"status {status}")

        processes.await_answer("showdown serve", self.server, log, ask, START_S)
        return (time.perf_counter() - began) * 1e3

    def kill_server(self) -> float:
        """Kills it without warning, and starts it again; returns how many milliseconds it took until it answered."""
        assert self.server
        self.server.kill()
        self.server.wait()
        return self.start_server()

    def start_controller(self, number: int, lasts_ms: int, every_ms: int) -> None:
        """Starts a controller on host `hNUMBER`. Its own directory has the access of this server, which it reads again and again."""
        home = self.home / f"c{number}"
        folder = home / "runs/.harness"
        folder.mkdir(parents=True, exist_ok=True)
        access = folder / "controller.json"
        if not access.is_symlink():
            access.symlink_to(self.runs.resolve() / ".harness/controller.json")
        controller = self.programs.of_controllers(self.home / "programs").resolve()
        environment = {
            **os.environ,
            "STAND_IN_LOG": str(self.log.resolve()),
            "STAND_IN_LOCKS": str((self.home / "locks").resolve()),
            "STAND_IN_MS": str(lasts_ms),
            "STAND_IN_EVERY_MS": str(every_ms),
            "SHOWDOWN_LOCK": str((home / "lock").resolve()),
        }
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        # A namespace of host names: the queue gives each host to one run only.
        argv = ["unshare", *user, "--uts", "/bin/sh", "-c", f'hostname h{number} && exec "$0" controller --runs runs', str(controller)]
        with (self.home / "controllers.log").open("ab") as sink:
            self.controllers[number] = subprocess.Popen(
                argv, cwd=home, stdout=sink, stderr=sink, stdin=subprocess.DEVNULL, env=environment
            )

    def kill_controller(self, number: int) -> None:
        """Kills a controller without warning; its run stays alone."""
        controller = self.controllers.pop(number)
        controller.kill()
        controller.wait()

    def stand_in_of(self, number: int) -> int | None:
        """The process id of the run of a controller."""
        children = processes.descendants(self.controllers[number].pid)[1:]
        return children[0] if children else None

    def kill_run(self, number: int) -> bool:
        """Kills the run of a controller; whether there was one."""
        run = self.stand_in_of(number)
        if run is None:
            return False
        try:
            os.kill(run, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def told(self) -> list[tuple[str, int, int, int]]:
        """What the stand-ins have said: what, seed, token, microseconds of the monotonic clock."""
        lines = []
        for line in self.log.read_text().splitlines():
            what, seed, token, at = line.split()
            lines.append((what, int(seed), int(token), int(at)))
        return lines

    def plan(self) -> str:
        """A plan; its line with the seed is for each entry another one."""
        argv = [str(self.programs.showdown.resolve()), "plan", "compare", "nginx", "apache", "--quick", "--seed", "0"]
        return subprocess.run(argv, cwd=self.home, capture_output=True, text=True, check=True).stdout


def with_seed(plan: str, seed: int) -> str:
    """The plan of one entry."""
    lines = [f"seed = {seed}" if line.startswith("seed = ") else line for line in plan.splitlines()]
    return "\n".join(lines) + "\n"


def peak_mb(pid: int) -> float:
    """The most memory that a process had since it started."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1e3
    return 0.0
