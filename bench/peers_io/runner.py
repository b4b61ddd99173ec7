"""The block I/O runner of showdown: started once per case, so that it writes its file once, and run in each round."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from pathlib import Path

from shared import processes
from shared.errors import BadRun

from . import histogram
from .cases import FILE_BYTES, Case

INTERVAL_MS = 250
"""Length of an interval. The warm-up's intervals and the last one do not count."""
FILE_NAME = "showdown-block"


def argv(engine: str, case: Case, directory: Path) -> list[str]:
    """The command line."""
    return [engine, "runner", "block", f"--directory={directory}", f"--file-bytes={FILE_BYTES}",
            f"--pattern={case.pattern}", f"--buffer={case.buffer}", f"--cache={case.cache}", f"--sync={case.sync}",
            f"--engine={case.engine}", f"--depth={case.depth}"]  # fmt: skip


class Runner:
    """A runner that waits for commands; a context manager."""

    def __init__(self, engine: str, case: Case, directory: Path):
        self.case, self.directory = case, directory
        directory.mkdir()
        self.process = subprocess.Popen(
            argv(engine, case, directory), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        if self._line().get("runner") != 1:
            raise BadRun("the runner did not announce version 1 of its protocol")

    @property
    def file(self) -> Path:
        """The file of its transfers."""
        return self.directory / FILE_NAME

    def run(self, warmup_s: float, seconds: float) -> dict[str, float]:
        """Runs; returns transfers per second, and percentiles in microseconds."""
        self._send(f"start {INTERVAL_MS} 1 {self.case.operation}=1")
        time.sleep(warmup_s + seconds)
        self._send("stop")
        times_us: Counter[int] = Counter()
        first, last = int(warmup_s * 1000 / INTERVAL_MS), int((warmup_s + seconds) * 1000 / INTERVAL_MS)
        while "stopped" not in (line := self._line()):
            operation = line["operations"].get(self.case.operation, {})
            if "errors" in operation:
                raise BadRun(f"errors: {operation['errors']}")
            if first <= line["interval"] < last and "histogram" in operation:
                times_us += histogram.decode(operation["histogram"])
        return {
            "transfers_per_s": times_us.total() / ((last - first) * INTERVAL_MS / 1000),
            "p50_us": histogram.at_share(times_us, 0.5),
            "p99_us": histogram.at_share(times_us, 0.99),
        }

    def _send(self, command: str) -> None:
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def _line(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            raise BadRun(f"the runner ended: exit code {self.process.wait()}")
        return json.loads(line)

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        # At the end of its input the runner ends and removes its file.
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            processes.stop(self.process)
