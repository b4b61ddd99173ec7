"""Our runner: started once for a case, so that its file is written once, and told to run in each round."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from pathlib import Path

from peers import processes
from peers.clients import BadRun

from . import histogram
from .cases import FILE_BYTES, Case

INTERVAL_MS = 250
"""Those at the beginning and the last do not count."""
FILE_NAME = "showdown-block"


def argv(engine: str, case: Case, directory: Path) -> list[str]:
    """The command."""
    return [engine, "runner", "block", f"--directory={directory}", f"--file-bytes={FILE_BYTES}",
            f"--pattern={case.pattern}", f"--buffer={case.buffer}", f"--cache={case.cache}", f"--sync={case.sync}",
            f"--engine={case.engine}", f"--depth={case.depth}"]  # fmt: skip


class Runner:
    """A runner that waits; a context manager."""

    def __init__(self, engine: str, case: Case, directory: Path):
        self.case, self.directory = case, directory
        directory.mkdir()
        self.process = subprocess.Popen(
            argv(engine, case, directory), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        if self._line().get("runner") != 1:
            raise BadRun("the runner is not ready")

    @property
    def file(self) -> Path:
        """What it transfers to and from."""
        return self.directory / FILE_NAME

    def run(self, warmup_s: float, seconds: float) -> dict[str, float]:
        """Transfers a second, and microseconds at shares of them."""
        self._say(f"start {INTERVAL_MS} 1 {self.case.operation}=1")
        time.sleep(warmup_s + seconds)
        self._say("stop")
        times_us: Counter[int] = Counter()
        first, last = int(warmup_s * 1000 / INTERVAL_MS), int((warmup_s + seconds) * 1000 / INTERVAL_MS)
        while "stopped" not in (line := self._line()):
            told = line["operations"].get(self.case.operation, {})
            if "errors" in told:
                raise BadRun(f"errors: {told['errors']}")
            if first <= line["interval"] < last and "histogram" in told:
                times_us += histogram.decode(told["histogram"])
        return {
            "transfers_per_s": times_us.total() / ((last - first) * INTERVAL_MS / 1000),
            "p50_us": histogram.at_share(times_us, 0.5),
            "p99_us": histogram.at_share(times_us, 0.99),
        }

    def _say(self, word: str) -> None:
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def _line(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            raise BadRun(f"the runner ended with {self.process.wait()}")
        return json.loads(line)

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        # The end of its input asks it to end, and it removes its file.
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            processes.stop(self.process)
