"""A PostgreSQL server of the bench: its own directory, a socket, no port."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from shared import processes
from shared.errors import ServerError

NOBODY = 65_534
"""PostgreSQL refuses to run as root."""
CONNECTIONS = 50


class Postgres:
    """A server with an empty database; it ends with the `with` statement."""

    def __init__(self, directory: Path):
        self.directory = directory
        directory.mkdir(parents=True)
        directory.chmod(0o755)
        if os.geteuid() == 0:
            os.chown(directory, NOBODY, NOBODY)
        self._process: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        """How the harness reaches it."""
        return f"postgres:///postgres?host={self.directory}&user=showdown"

    @property
    def pid(self) -> int:
        """The first process."""
        assert self._process
        return self._process.pid

    def __enter__(self) -> Postgres:
        made = subprocess.run(
            self._program("initdb", "--username=showdown", "--auth=trust", "--locale=C", "--encoding=UTF8", "data"),
            cwd=self.directory, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if made.returncode != 0:
            raise ServerError(f"initdb: {made.stderr.strip()[-300:]}")
        self._start()
        return self

    def __exit__(self, *_error) -> None:
        if self._process:
            # Connections that stay open would keep it from ending at SIGTERM.
            processes.stop(self._process, signal.SIGINT, patience_s=30.0)

    def crash(self) -> None:
        """Ends it without a checkpoint, and starts it again: it recovers from its log."""
        assert self._process
        processes.stop(self._process, signal.SIGQUIT, patience_s=30.0)
        self._start()

    def _start(self) -> None:
        log = self.directory.parent / "postgres.log"
        argv = self._program("postgres", "-D", str(self.directory / "data"), "-c", "listen_addresses=",
                             "-c", f"max_connections={CONNECTIONS}", "-c", f"unix_socket_directories={self.directory}")  # fmt: skip
        with log.open("ab") as sink:
            self._process = subprocess.Popen(argv, cwd=self.directory, stdout=sink, stderr=sink, stdin=subprocess.DEVNULL)
        processes.await_answer("PostgreSQL", self._process, log, self._ask, 60.0)

    def _ask(self) -> None:
        ready = subprocess.run(["pg_isready", "-q", "-h", str(self.directory)], check=False)
        if ready.returncode != 0:
            raise ConnectionError("not yet")

    def _program(self, name: str, *arguments: str) -> list[str]:
        programs = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
        if not programs:
            raise ServerError("postgresql is not installed: apt-get install postgresql")
        user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
        return [*user, str(programs[-1]), *arguments]
