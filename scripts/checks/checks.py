"""The checks of the continuous integration, and what is said of them."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path

from . import programs, times
from .parts import Part
from .pool import Ended, Job, Pool

REPOSITORY = Path(__file__).resolve().parents[2]

LONGEST = 3600.0
"""Seconds after which a part hangs."""
LONGEST_TEST = 900.0
"""Seconds after which a test hangs."""
PROGRESS = 60.0
"""Seconds between two lines that say how many tests have ended."""


class Checks:
    """The parts, and what they have shown."""

    def __init__(self, target: Path, at_once: int, only: str) -> None:
        self.target, self.at_once, self.only = target, at_once, only
        self.pool = Pool()
        self.parts: list[Ended] = []
        self.tests: list[Ended] = []
        self.printing = threading.Lock()
        self.began, self.cpus = time.monotonic(), times.CpuTimes.now()

    def all(self) -> list[Part]:
        """All parts. Cargo locks its target directory: what uses it comes one after the other, and tests are started without it."""
        to_compile = () if shutil.which("cc") else ("packages-test",)
        return [
            self._target("check-format"),
            self._target("packages-test"),
            self._target("build-tests", to_compile),
            self._target("check-dependencies", to_compile),
            Part("test-rust", self._test_rust, ("build-tests", "packages-test")),
            # Its pages of the harness need both programs.
            self._target("test-web", ("packages-test", "build-tests")),
            self._target("test-python", ("packages-test",)),
            self._target("clippy", ("build-tests",)),
            self._target("test-docs", ("build-tests", "clippy")),
        ]

    def _target(self, name: str, after: tuple[str, ...] = ()) -> Part:
        """A part that is a target of the Makefile."""
        job = Job(name, ["make", "--no-print-directory", name], REPOSITORY)
        return Part(name, lambda: self._report(self.pool.run(job, LONGEST)), after)

    def _test_rust(self) -> bool:
        """Runs the programs that are built: several at a time, because most of them wait."""
        began, cpus = time.monotonic(), times.CpuTimes.now()
        built = programs.built((self.target / "test-programs.json").read_text().splitlines())
        jobs = [job for job in programs.all_jobs(built) if self.only in job.name]
        said = began

        def ended(test: Ended) -> None:
            nonlocal said
            self.tests.append(test)
            if not test.succeeded:
                self._say(f"FAILED {times.duration(test.seconds):>12}  {test.job.name}\n{test.printed}")
            elif time.monotonic() - said > PROGRESS:
                said = time.monotonic()
                self._say(f"       {times.duration(said - began):>12}  test-rust: {len(self.tests)} of {len(jobs)}")

        self.pool.run_all(jobs, self.at_once, LONGEST_TEST, ended)
        failed = sum(not test.succeeded for test in self.tests)
        seconds, busy = time.monotonic() - began, times.CpuTimes.now().busy_since(cpus)
        self._say(f"{len(jobs)} tests and programs, {failed} failed; {self.at_once} at a time; the CPUs were {busy:.0%} busy")
        cpu_seconds = sum(test.cpu_seconds for test in self.tests)
        # Without any test, something else is wrong.
        return self._report(Ended(Job("test-rust", [], REPOSITORY), failed == 0 < len(jobs), seconds, cpu_seconds, ""))

    def end(self, failed: list[str]) -> int:
        """Says what was slow and skipped; returns the exit code. On a machine of the continuous integration, only what the machine itself
        forbids is skipped."""
        self._list("slowest parts", times.slowest(self.parts))
        self._list("slowest tests", times.slowest(self.tests))
        self._list("busiest tests", times.busiest(self.tests))
        skipped = times.skipped(self.tests)
        self._list("skipped tests", skipped)
        if times.by_choice(skipped) and os.environ.get("CI") == "true":
            failed = [*failed, "skipped tests (CI=true)"]
        seconds, busy = time.monotonic() - self.began, times.CpuTimes.now().busy_since(self.cpus)
        self._say(f"\n{times.duration(seconds)}; the CPUs were {busy:.0%} busy")
        if failed:
            self._say(f"FAILED: {', '.join(failed)}")
        return 1 if failed else 0

    def _list(self, title: str, lines: list[str]) -> None:
        if lines:
            self._say("\n".join([f"\n{title}", *(f"  {line}" for line in lines)]))

    def _report(self, ended: Ended) -> bool:
        self.parts.append(ended)
        word = "ok    " if ended.succeeded else "FAILED"
        self._say(f"{word} {times.duration(ended.seconds):>12}  {ended.job.name}")
        # A part may skip what it cannot do, such as a database that is not reachable.
        said = ended.printed.splitlines()
        for line in (line for line in said if not ended.succeeded or "SKIPPED" in line):
            self._say(line)
        return ended.succeeded

    def _say(self, line: str) -> None:
        with self.printing:
            print(line, flush=True)
