"""The test programs that cargo has built, and what is run of them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .pool import Job

LONGEST = [
    "showdown bakeoff workloads::olio::pages_are_those_of_the_reference_or_the_trial_of_a_cheat_is_invalid",
    "showdown bakeoff verbs::tune::a_search_records_what_it_tried_and_leaves_nothing_behind",
    "showdown bakeoff verbs::explain::two_servers_of_a_run_are_set_side_by_side",
    "showdown bakeoff verbs::slow_requests::a_planted_sleep_is_a_step_of_a_slow_request",
    "bakeoff unit tests",
]
"""What takes longest begins first, so that nothing waits for it in the end. The list of the slowest tests tells what belongs here."""


@dataclass(frozen=True)
class TestProgram:
    """A test program of a crate."""

    crate: str
    target: str
    is_of_units: bool
    """Whether it has the unit tests of a crate. The others are end-to-end tests, which mostly wait."""
    executable: Path
    directory: Path
    """Where cargo starts it: the directory of the crate."""

    @property
    def name(self) -> str:
        return f"{self.crate} {'unit tests' if self.is_of_units else self.target}"


def built(messages: Iterable[str]) -> list[TestProgram]:
    """The test programs of `cargo test --no-run --message-format=json`, in the order in which they begin."""
    programs = []
    for line in messages:
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("reason") == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
            directory = Path(message["manifest_path"]).parent
            target, kinds = message["target"]["name"], message["target"]["kind"]
            is_of_units = "test" not in kinds
            programs.append(TestProgram(directory.name, target, is_of_units, Path(message["executable"]), directory))
    return sorted(programs, key=lambda program: (program.is_of_units, program.crate != "showdown", program.name))


def all_jobs(programs: list[TestProgram]) -> list[Job]:
    """What is run of these programs, in the order in which it begins."""
    unsorted = [job for program in programs for job in jobs(program)]
    return sorted(unsorted, key=lambda job: job.name not in LONGEST)


def jobs(program: TestProgram) -> list[Job]:
    """Unit tests run in one process; an end-to-end test has a process of its own, so that those of all crates can run side by side."""
    if program.is_of_units:
        return [_job(program, program.name, ["--show-output"])]
    names = _names(program, [])
    ignored = set(_names(program, ["--ignored"]))
    chosen = [name for name in names if name not in ignored]
    return [_job(program, f"{program.name} {name}", [name, "--exact", "--nocapture"]) for name in chosen]


def _names(program: TestProgram, options: list[str]) -> list[str]:
    listed = subprocess.run(
        [program.executable, "--list", "--format", "terse", *options],
        cwd=program.directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    return [line.removesuffix(": test") for line in listed.stdout.splitlines() if line.endswith(": test")]


def _job(program: TestProgram, name: str, arguments: list[str]) -> Job:
    # Cargo sets it for tests that look for files of their crate.
    environment = {"CARGO_MANIFEST_DIR": str(program.directory)}
    return Job(name, [str(program.executable), *arguments], program.directory, environment)
