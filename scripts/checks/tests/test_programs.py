"""The test programs in the messages of cargo, and what is run of them."""

from __future__ import annotations

import json
import os
import tempfile
import unittest
from pathlib import Path

from checks import programs
from checks.programs import TestProgram

LISTS = """#!/bin/sh
case "$*" in
    *--ignored*) printf 'slow: test\\n' ;;
    *) printf 'quick one: test\\nslow: test\\nfast: benchmark\\n' ;;
esac
"""


def message(crate: str, target: str, kind: str, executable: str | None, test: bool = True) -> str:
    return json.dumps({
        "reason": "compiler-artifact",
        "manifest_path": f"/project/crates/{crate}/Cargo.toml",
        "target": {"name": target, "kind": [kind]},
        "profile": {"test": test},
        "executable": executable,
    })  # fmt: skip


class ProgramsTest(unittest.TestCase):
    def test_end_to_end_tests_come_before_unit_tests(self) -> None:
        found = programs.built([
            "not a message",
            message("stats", "stats", "lib", "/target/stats-1"),
            message("load", "users", "test", "/target/users-1"),
            message("showdown", "showdown", "bin", "/target/showdown", test=False),
            message("showdown", "bakeoff", "test", "/target/bakeoff-1"),
            message("wire", "wire", "lib", None),
            json.dumps({"reason": "build-finished", "success": True}),
        ])  # fmt: skip
        self.assertEqual([program.name for program in found], ["showdown bakeoff", "load users", "stats unit tests"])
        self.assertEqual(found[0].directory, Path("/project/crates/showdown"))

    def test_the_longest_begin_first(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "program"
            program.write_text(LISTS)
            os.chmod(program, 0o755)
            both = [TestProgram("load", "users", False, program, Path(folder)), TestProgram("bakeoff", "bakeoff", True, program, Path(folder))]
            self.assertEqual([job.name for job in programs.all_jobs(both)], ["bakeoff unit tests", "load users quick one"])

    def test_each_end_to_end_test_is_a_job_and_unit_tests_are_one(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "program"
            program.write_text(LISTS)
            os.chmod(program, 0o755)
            [job] = programs.jobs(TestProgram("load", "users", False, program, Path(folder)))
            self.assertEqual((job.name, job.command[1:]), ("load users quick one", ["quick one", "--exact", "--nocapture"]))
            [job] = programs.jobs(TestProgram("load", "load", True, program, Path(folder)))
            self.assertEqual((job.name, job.command[1:]), ("load unit tests", ["--show-output"]))


if __name__ == "__main__":
    unittest.main()
