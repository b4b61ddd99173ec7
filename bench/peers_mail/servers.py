"""Postfix and smtp-sink as ordinary processes in a temporary directory, on one CPU.

Postfix counts messages in its log. smtp-sink accepts messages, discards them and counts nothing.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path

from shared import postfix, processes
from shared.errors import ServerError

DOMAIN = "mx.example"
WORKLOAD = Path(__file__).resolve().parents[2] / "workloads/mail"

DISCARD = """\
virtual_mailbox_maps = static:all
virtual_transport = discard:
"""


class MailServer:
    """A server process on one CPU, with a log and a port."""

    name: str

    def __init__(self, directory: Path, cpu: int):
        self.directory = directory / self.name
        self.directory.mkdir()
        self.log = self.directory / "log"
        self.port = processes.free_port()
        self.process = processes.start(self._start(), {cpu}, self.log, cwd=self.directory)
        self._await_ready()

    def messages(self) -> int | None:
        """Messages accepted since the server's start; None if it does not count."""
        raise NotImplementedError

    def __enter__(self):
        return self

    def __exit__(self, *_):
        processes.stop(self.process, patience_s=10)

    def _start(self) -> list[str]:
        raise NotImplementedError

    def _await_ready(self, within_s: float = 15.0) -> None:
        end = time.monotonic() + within_s
        while time.monotonic() < end and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.1)
        processes.stop(self.process)
        raise ServerError(f"{self.name} does not answer: {self.log.read_text().strip()[-500:] or 'no message'}")


class Postfix(MailServer):
    """Postfix with its queue in memory, so that no disk takes part, and with delivery to discard(8)."""

    name = "postfix"

    def _start(self) -> list[str]:
        self.directory.chmod(0o711)
        (self.directory / "main.cf").write_text((postfix.MAIN_CF + DISCARD).format(directory=self.directory))
        services = (WORKLOAD / "master.cf").read_text().replace("{{ host }}:{{ port }}", f"127.0.0.1:{self.port}")
        (self.directory / "master.cf").write_text(services)
        for name, owner in (("queue", "root"), ("data", "postfix")):
            (self.directory / name).mkdir(mode=0o755)
            shutil.chown(self.directory / name, owner)
        # The master runs in the foreground, as with `postfix start-fg`, so that there is one process to stop.
        subprocess.run(["postfix", "-c", str(self.directory), "check"], check=True, capture_output=True)
        daemons = subprocess.run(["postconf", "-dh", "daemon_directory"], check=True, capture_output=True, text=True)
        return [f"{daemons.stdout.strip()}/master", "-c", str(self.directory), "-d"]

    def messages(self) -> int | None:
        return (self.directory / "maillog").read_text(errors="replace").count(" message-id=")


class Sink(MailServer):
    """smtp-sink, the counterpart of smtp-source: the least work per message that a server can do."""

    name = "smtp-sink"

    def _start(self) -> list[str]:
        return ["smtp-sink", "-u", "nobody", f"127.0.0.1:{self.port}", "1000"]

    def messages(self) -> int | None:
        return None
