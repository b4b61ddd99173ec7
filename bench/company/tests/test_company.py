"""Tests of the page by rows that are made up, and of the other programs' end."""

import os
import tempfile
import time
import unittest
from pathlib import Path

from company import company, page, subjects


def _row(subject: str, truth: float, **others: str) -> dict[str, str]:
    row = dict.fromkeys(page.COLUMNS, "") | {"kind": "bursts", "at": "2026-11-29T00:00:00Z", "commit": "abc", "subject": subject, "truth": str(truth)}
    return row | {"seconds": "60", "verdict": "no difference", "ratio": "1.0", "low": "0.97", "high": "1.03", "unit": "µs"} | others


class Rows:
    """A ledger in memory."""

    def __init__(self, rows: list[dict[str, str]]):
        self._rows = rows

    def rows(self) -> list[dict[str, str]]:
        return self._rows


class Pages(unittest.TestCase):
    def test_more_work_is_more_cpu_time_and_less_throughput(self):
        cpu = _row("known-5%", 1.05, verdict="difference", ratio="0.95", low="0.93", high="0.97")
        throughput = _row("known-5%", 1.05, verdict="difference", ratio="1.05", low="1.03", high="1.07", unit="/s")
        wrong = _row("known-5%", 1.05, verdict="difference", ratio="1.05", low="1.03", high="1.07")
        self.assertEqual([page._is_found(row) for row in (cpu, throughput, wrong)], [True, True, False])
        self.assertEqual([page._is_covered(row) for row in (cpu, throughput, wrong)], [True, True, False])

    def test_a_difference_that_took_too_long_is_not_found_in_time(self):
        late = _row("known-5%", 1.05, verdict="difference", ratio="0.95", low="0.93", high="0.97", seconds="181")
        default = _row("known-2%", 1.02, verdict="difference", ratio="0.98", low="0.97", high="0.99", seconds="400")
        self.assertEqual([page._is_found(late), page._is_found(default)], [False, True])

    def test_a_bar_of_each_kind_is_that_of_the_worst_kind(self):
        found = {"verdict": "difference", "ratio": "0.95", "low": "0.93", "high": "0.97"}
        rows = [_row("known-5%", 1.05, **found) for _ in range(30)] + [_row("known-5%", 1.05, kind="compile") for _ in range(10)]
        _, _, measured, result = page._found_in_each_kind("known-5%", 0.9, rows)
        self.assertIn("worst: compile, 0 of 10", measured)
        self.assertIn("not met", result)

    def test_ratios_beside_programs_are_compared_with_the_quiet_interval_of_the_same_measure(self):
        quiet = _row("nginx-apache-cpu", 0.0, kind="quiet", ratio="0.5", low="0.48", high="0.52")
        rows = [quiet, _row("nginx-apache-cpu", 0.0, ratio="0.51"), _row("nginx-apache-cpu", 0.0, ratio="0.6"), _row("nginx-apache-cpu", 0.0, ratio="2", unit="/s")]
        self.assertIn("1 of 2", page._within_quiet("nginx-apache-cpu", rows)[2])

    def test_quiet_widths_and_the_clients_have_bars(self):
        wide = {"kind": "quiet", "low": "0.96", "high": "1.04"}
        rows = [_row("nginx", 1.0, kind="quiet"), _row("nginx", 1.0, commit=page.BEFORE, **wide)]
        self.assertTrue(page._widths(rows)[2].startswith("0.7"))
        client = dict(kind="bursts", commit="abc", connections="64", showdown_per_s="99", wrk_per_s="100")
        self.assertIn("0.99", page._clients([client])[2])
        self.assertIn("abc", page.write(Rows(rows), Rows([client])))

    def test_readmes_lines_of_two_variants_are_compared(self):
        lines = {subject.name: subject for subject in subjects.README}
        self.assertEqual(lines["readme-tls"].options, ("--quick",))
        self.assertEqual(lines["readme-cache"].options, ("--quick", "--measure", "throughput", "-c", "2"))
        self.assertNotIn("readme-mpms", lines)
        self.assertNotIn("readme-search", lines)

    def test_a_false_verdict_and_an_open_one_are_counted(self):
        rows = [_row("nginx", 1.0), _row("nginx", 1.0, verdict="difference"), _row("memcached", 1.0, verdict="inconclusive")]
        text = page.write(Rows(rows), Rows([]))
        self.assertIn("1 of 3", text)
        self.assertIn("2 of 3", text)

    def test_a_page_without_rows_says_so(self):
        self.assertIn("too few yet", page.write(Rows([]), Rows([])))


class Programs(unittest.TestCase):
    def test_they_run_and_end_with_their_block(self):
        kind = next(kind for kind in company.KINDS if kind.name == "bursts")
        with company.beside(kind):
            time.sleep(0.05)
            here = Path("/proc/self/task").resolve().parent.name
            children = Path(f"/proc/{here}/task/{here}/children").read_text().split()
            self.assertGreaterEqual(len(children), kind.processes)
        self.assertEqual(set(children) & set(Path(f"/proc/{here}/task/{here}/children").read_text().split()), set())

    def test_what_they_have_started_ends_with_them(self):
        starts = "import subprocess, sys\nchild = subprocess.Popen(['sleep', '600'])\nopen(sys.argv[1] + '/pid', 'w').write(str(child.pid))\nchild.wait()"
        with tempfile.TemporaryDirectory() as folder:
            starts = starts.replace("sys.argv[1]", repr(folder))
            with company.beside(company.Kind("starts", starts, 1, "a program that starts another one")):
                child = Path(folder, "pid")
                while not child.exists() or not child.read_text():
                    time.sleep(0.01)
                status = Path("/proc", child.read_text(), "stat")
            # Whoever waits for it may not have done so: then it is a zombie.
            self.assertIn(status.read_text().split()[2] if status.exists() else "gone", ("Z", "X", "gone"))

    def test_one_that_cannot_run_is_an_error_before_the_block(self):
        needs_root = company.Kind("fails", "raise SystemExit(1)", 1, "a program that fails", needs_root=True)
        began = False
        with self.assertRaisesRegex(RuntimeError, "company fails has ended early, with status 1"), company.beside(needs_root):
            began = True
        self.assertFalse(began)

    def test_one_that_ends_before_its_block_is_an_error(self):
        ends = company.Kind("ends", "import time; time.sleep(2 * 0.3); raise SystemExit(3)", 1, "a program that ends")
        with self.assertRaisesRegex(RuntimeError, "company ends has ended early, with status 3"), company.beside(ends):
            time.sleep(0.01)
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
