"""Tests of the page by rows that are made up, and of the other programs' end."""

import os
import tempfile
import time
import unittest
from pathlib import Path

from company import company, page


def _row(subject: str, truth: float, **others: str) -> dict[str, str]:
    row = dict.fromkeys(page.COLUMNS, "") | {"kind": "bursts", "at": "2026-11-29T00:00:00Z", "subject": subject, "truth": str(truth)}
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

    def test_a_false_verdict_and_an_open_one_are_counted(self):
        rows = [_row("nginx", 1.0), _row("nginx", 1.0, verdict="difference"), _row("memcached", 1.0, verdict="inconclusive")]
        text = page.write(Rows(rows))
        self.assertIn("1 of 3", text)
        self.assertIn("2 of 3", text)

    def test_a_page_without_rows_says_so(self):
        self.assertIn("too few yet", page.write(Rows([])))


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

    def test_one_that_ends_before_its_block_is_an_error(self):
        ends = company.Kind("ends", "raise SystemExit(3)", 1, "a program that ends")
        with self.assertRaisesRegex(RuntimeError, "company ends has ended early, with status 3"), company.beside(ends):
            time.sleep(0.01)
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
