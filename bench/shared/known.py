"""A server of known behaviour as a process, with its own account of its requests."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import urllib.request
from pathlib import Path

from . import processes
from .errors import ServerError


class Known:
    """`showdown __known-server` on one CPU; it ends with the `with` block."""

    def __init__(self, engine: str, directory: Path, cpu: int, *options: str):
        self.port = processes.free_port()
        self.address = f"127.0.0.1:{self.port}"
        argv = [engine, "__known-server", "--port", str(self.port), *options]
        self._log = directory / "known.log"
        self.process = processes.start(argv, {cpu}, self._log)

    def __enter__(self) -> Known:
        end = time.monotonic() + 10
        while time.monotonic() < end and self.process.poll() is None:
            try:
                self.account()
                return self
            except OSError:
                time.sleep(0.02)
        processes.stop(self.process)
        raise ServerError(f"the known server does not answer: {self._log.read_text().strip()[-300:]}")

    def __exit__(self, *_):
        processes.stop(self.process)

    def account(self) -> dict:
        """Its counts and exact quantiles."""
        return json.loads(self._ask("account"))

    def log(self) -> str:
        """All requests and replies, as CSV."""
        return self._ask("log")

    def freeze_from_outside(self, length_s: float, period_s: float, periods: int) -> threading.Thread:
        """Stops the server with SIGSTOP in the middle of each period, from now on."""

        def freeze() -> None:
            between = period_s - length_s
            time.sleep(between / 2)
            for _ in range(periods):
                os.kill(self.process.pid, signal.SIGSTOP)
                time.sleep(length_s)
                os.kill(self.process.pid, signal.SIGCONT)
                time.sleep(between)

        thread = threading.Thread(target=freeze, daemon=True)
        thread.start()
        return thread

    def _ask(self, what: str) -> str:
        with urllib.request.urlopen(f"http://{self.address}/{what}", timeout=30) as reply:
            return reply.read().decode()
