"""What is said of times, of the CPUs, and of skipped tests."""

from __future__ import annotations

import unittest
from pathlib import Path

from checks import times
from checks.pool import Ended, Job
from checks.times import CpuTimes


def ended(name: str, seconds: float = 1.0, printed: str = "") -> Ended:
    return Ended(Job(name, [], Path("/")), True, seconds, seconds / 2, printed)


class TimesTest(unittest.TestCase):
    def test_time_in_idle_and_in_waits_for_disks_is_not_busy(self) -> None:
        before = CpuTimes.read("cpu  10 0 10 50 30 0 0 0 5 0\ncpu0 1 1 1 1\n")
        after = CpuTimes.read("cpu  30 20 20 80 40 5 5 0 9 0\n")
        self.assertAlmostEqual(after.busy_since(before), 0.6)
        self.assertEqual(before.busy_since(before), 0.0)

    def test_a_duration_is_read_at_a_glance(self) -> None:
        self.assertEqual([times.duration(s) for s in (7.26, 59.94, 60, 725.4)], ["7.3 s", "59.9 s", "1 min 00 s", "12 min 05 s"])

    def test_the_slowest_come_first_with_their_cpu_time(self) -> None:
        lines = times.slowest(ended(f"test {seconds}", seconds) for seconds in range(20))
        self.assertEqual((lines[0], len(lines)), ("   19.0 s     9.5 s CPU  test 19", 10))

    def test_the_busiest_come_first_with_their_share_of_all_cpu_time(self) -> None:
        lines = times.busiest([ended("waits", seconds=1.0), ended("computes", seconds=3.0)])
        self.assertEqual(lines, ["    1.5 s CPU  75.0%  computes", "    0.5 s CPU  25.0%  waits"])
        self.assertEqual(times.busiest([]), [])

    def test_a_skipped_test_is_named_with_the_reason(self) -> None:
        alone = ended("showdown machines lab", printed="running 1 test\nSKIPPED: only root can\ntest lab ... ok\n")
        units = ended("explain unit tests", printed="test a ... ok\n\n---- delays::nobody stdout ----\nSKIPPED: not root\n\n---- b stdout ----\n")
        self.assertEqual(
            times.skipped([alone, units, ended("other", printed="SKIPPED")]),
            ["explain unit tests delays::nobody: not root", "showdown machines lab: only root can"],
        )

    def test_what_a_container_forbids_is_no_choice(self) -> None:
        lines = ["a: this container forbids mounts", "b: only root may sample the kernel"]
        self.assertEqual(times.by_choice(lines), lines[1:])


if __name__ == "__main__":
    unittest.main()
