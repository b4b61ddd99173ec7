"""MariaDB and PostgreSQL as ordinary processes in a temporary directory, on one CPU.

sysbench takes a password for MariaDB only on its command line, so the account of the bench has none. Other users of the
machine can use it while the bench runs: it may change the tables of the bench, and nothing else. No account that may do
more can log in over TCP.

The server counts the statements, in the same way for all clients.
"""

from __future__ import annotations

import os
import pwd
import subprocess
import time
from pathlib import Path

from shared import processes
from shared.errors import ServerError

USER, DATABASE = "bench", "bench"
UNPRIVILEGED = "nobody"
"""The user of the servers if the bench runs as root: PostgreSQL refuses to run as root."""


class Database:
    """A server process on one CPU, with a log and a count of statements."""

    name: str
    scheme: str
    database = DATABASE

    def __init__(self, directory: Path, cpu: int):
        self.directory = directory / self.name
        self.directory.mkdir(mode=0o700)
        self.log = self.directory / "log"
        if os.geteuid() == 0:
            entry = pwd.getpwnam(UNPRIVILEGED)
            os.chown(self.directory, entry.pw_uid, entry.pw_gid)
        self.port = processes.free_port()
        self._run(self._make())
        self._restrict()
        self.process = processes.start(self._as_unprivileged(self._start()), {cpu}, self.log, cwd=self.directory)
        self._await_ready()

    def url(self) -> str:
        """The server's address for the engine."""
        return f"{self.scheme}://{USER}@127.0.0.1:{self.port}/{self.database}"

    def statements(self) -> int:
        """Statements since the server's start."""
        raise NotImplementedError

    def __enter__(self):
        return self

    def __exit__(self, *_):
        processes.stop(self.process, patience_s=30)

    def _make(self) -> list[str]:
        raise NotImplementedError

    def _restrict(self) -> None:
        """Restricts the accounts before the server starts."""

    def _start(self) -> list[str]:
        raise NotImplementedError

    def _run(self, argv: list[str], text: str = "") -> None:
        made = subprocess.run(self._as_unprivileged(argv), input=text, capture_output=True, text=True, check=False)
        if made.returncode:
            raise ServerError(f"{self.name}: {made.stdout.strip()[-300:]} {made.stderr.strip()[-300:]}")

    def _ask(self, argv: list[str]) -> int:
        return int(subprocess.run(argv, capture_output=True, text=True, check=True, timeout=10).stdout.split()[-1])

    def _as_unprivileged(self, argv: list[str]) -> list[str]:
        if os.geteuid() != 0:
            return argv
        group = pwd.getpwnam(UNPRIVILEGED).pw_gid
        return ["setpriv", f"--reuid={UNPRIVILEGED}", f"--regid={group}", "--clear-groups", *argv]

    def _await_ready(self, within_s: float = 30.0) -> None:
        end = time.monotonic() + within_s
        while time.monotonic() < end and self.process.poll() is None:
            try:
                self.statements()
                return
            except (subprocess.SubprocessError, ValueError, IndexError):
                time.sleep(0.1)
        processes.stop(self.process)
        raise ServerError(f"{self.name} does not answer: {self.log.read_text().strip()[-500:] or 'no message'}")


class Mariadb(Database):
    """InnoDB, with all tables in memory."""

    name, scheme = "mariadb", "mysql"

    def _make(self) -> list[str]:
        return ["mariadb-install-db", "--no-defaults", f"--datadir={self.directory}/data", f"--tmpdir={self.directory}",
                "--auth-root-authentication-method=socket", "--auth-root-socket-user=root",
                "--skip-test-db"]  # fmt: skip

    def _start(self) -> list[str]:
        account = self.directory / "account.sql"
        account.write_text(
            f"CREATE DATABASE {DATABASE};\nCREATE USER '{USER}'@'127.0.0.1';\n"
            f"GRANT ALL ON {DATABASE}.* TO '{USER}'@'127.0.0.1';\n"
        )
        return ["mariadbd", "--no-defaults", f"--datadir={self.directory}/data", f"--tmpdir={self.directory}", f"--socket={self.directory}/socket",
                f"--port={self.port}", "--bind-address=127.0.0.1", "--skip-name-resolve", f"--init-file={account}",
                f"--secure-file-priv={self.directory}", "--innodb-buffer-pool-size=512M"]  # fmt: skip

    def statements(self) -> int:
        """Executions of prepared statements since the server's start."""
        return self._ask(
            ["mariadb", "--no-defaults", "--protocol=tcp", "-h127.0.0.1", f"-P{self.port}", f"-u{USER}", "-N",
             "-e", "SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'"]
        )  # fmt: skip


class Postgres(Database):
    """PostgreSQL, with all tables in memory."""

    name, scheme, database = "postgres", "postgres", "postgres"

    def _make(self) -> list[str]:
        return ["initdb", f"--pgdata={self.directory}/data", "--username=owner", "--auth=reject", "--no-sync"]

    def _restrict(self) -> None:
        statements = f"CREATE ROLE {USER} LOGIN;\nGRANT ALL ON SCHEMA public TO {USER};\n"
        self._run(["postgres", "--single", "-D", f"{self.directory}/data", self.database], statements)
        hba = self.directory / "data" / "pg_hba.conf"
        hba.write_text(f"host all {USER} 127.0.0.1/32 trust\n")

    def _start(self) -> list[str]:
        return ["postgres", "-D", f"{self.directory}/data", "-p", str(self.port), "-h", "127.0.0.1", "-k", "",
                "-c", "shared_buffers=512MB"]  # fmt: skip

    def statements(self) -> int:
        """Commits since the server's start. Logins and the preparation of statements add a few dozen."""
        return self._ask(
            ["psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", USER, "-d", "template1", "-Atc",
             "SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'"]
        )  # fmt: skip
