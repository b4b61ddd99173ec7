"""Tests of the judgement: which process has which role, which message is right, and what the page says."""

import tempfile
import unittest
from pathlib import Path

from faults import case, page, plans
from faults.faults import FAULTS, in_role, message_of, wrong_message
from faults.sandbox import _write_until_full

PROCESSES = {
    10: ("showdown", 1),
    11: ("sd-guard", 10),
    12: ("sd-keeper", 11),
    13: ("nginx", 12),
    14: ("nginx", 13),
    15: ("sd-launcher", 12),
    16: ("sd-restorer", 10),
}


class Roles(unittest.TestCase):
    def test_supervisors_server_and_workers_are_told_apart(self):
        found = {role: in_role(role, PROCESSES) for role in ("guard", "supervisor", "server", "worker")}
        self.assertEqual(found, {"guard": [11], "supervisor": [12], "server": [13], "worker": [14]})


class Messages(unittest.TestCase):
    def test_a_stopped_run_must_name_the_command_that_goes_on(self):
        log = "note: x\nshowdown: the run stopped early: nginx: it died (…): `showdown resume 2026-x` goes on\n"
        self.assertEqual(wrong_message(FAULTS["kill-server"], 1, log), "")
        without = log.replace("`showdown resume 2026-x` goes on", "")
        self.assertIn("not the message", wrong_message(FAULTS["kill-server"], 1, without))

    def test_other_exit_codes_messages_and_panics_are_wrong(self):
        fault = FAULTS["ctrl-c-twice"]
        self.assertEqual(wrong_message(fault, 130, ""), "")
        self.assertIn("exit code 1", wrong_message(fault, 1, "showdown: x"))
        self.assertEqual(wrong_message(fault, 130, "showdown: interrupted again: it ends at once. …"), "")
        self.assertIn("not the message", wrong_message(fault, 130, "showdown: x"))
        self.assertIn("a message with exit code", wrong_message(FAULTS["kill-showdown"], -9, "showdown: x"))
        self.assertIn("a panic", wrong_message(fault, 130, "thread 'main' panicked at x"))

    def test_the_message_is_the_last_line_of_showdown(self):
        self.assertEqual(message_of("note: a\nshowdown: b\nshowdown: c\n"), "c")
        self.assertEqual(message_of("note: a\n"), "")


class Cases(unittest.TestCase):
    def test_the_seed_determines_the_moments(self):
        shares = [case.share_of(1, "nginx", "full-runs", moment) for moment in range(10)]
        self.assertEqual(shares, [case.share_of(1, "nginx", "full-runs", moment) for moment in range(10)])
        self.assertEqual(len(set(shares)), 10)
        self.assertTrue(all(0 < share < 1 for share in shares))
        self.assertNotEqual(shares[0], case.share_of(2, "nginx", "full-runs", 0))

    def test_the_plan_gets_short_loops(self):
        plan = 'min = "1s 200ms"\nmax = "10s"\nclosed_loop = "1s 200ms"\nmeasure = "500ms"\n'
        self.assertEqual(plans.shorter(plan), 'min = "300ms"\nmax = "300ms"\nclosed_loop = "300ms"\nmeasure = "500ms"\n')

    def test_a_full_device_ends_the_filling(self):
        with tempfile.TemporaryDirectory() as directory:
            link = Path(directory) / "full"
            link.symlink_to("/dev/full")
            _write_until_full(link)


class Page(unittest.TestCase):
    def row(self, **found: str) -> dict[str, str]:
        well = dict.fromkeys(case.COLUMNS, "") | {"server": "nginx", "fault": "kill-guard", "moment": "1", "exit": "3"}
        return well | found

    def test_all_is_well(self):
        text = page.render([self.row()], {"date": "2026-11-22"})
        self.assertIn("All checks passed", text)
        self.assertIn("| `kill-guard` | nginx | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 3 (1) |", text)
        self.assertNotIn("Checks that failed", text)

    def test_a_failed_check_is_counted_and_told(self):
        text = page.render([self.row(), self.row(moment="2", processes_left="nginx (pid 7)")], {})
        self.assertIn("In 1 of them all checks passed", text)
        self.assertIn("| `kill-guard` | nginx | 2 | 1 | 0 |", text)
        self.assertIn("processes left: nginx (pid 7)", text)


if __name__ == "__main__":
    unittest.main()
