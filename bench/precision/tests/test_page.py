"""Tests of the page."""

import tempfile
import unittest
from pathlib import Path

from shared.ledger import Ledger
from precision import page


class Page(unittest.TestCase):
    """Half-widths are compared at equal time."""

    def test_a_half_width_of_a_tenth_in_a_quarter_of_the_time_is_a_twentieth(self):
        with tempfile.TemporaryDirectory() as directory:
            ledger = Ledger(Path(directory) / "c.csv", page.COLUMNS)
            for release, seconds, half in [(page.BEFORE, 100, 1.10), (page.NOW, 25, 1.01)]:
                row = dict.fromkeys(page.COLUMNS, "") | {"subject": "nginx-closed", "commit": release, "seconds": seconds}
                ledger.append(row | {"at": page.SINCE, "low": 1 / half, "high": half})
            text = page.write(ledger)
        self.assertIn("| ±10.0% | 100 s | ±1.0% | 25 s | 0.05 | ≤ 0.2: met |", text)
        self.assertNotIn("memcached", text, "what was not compared has no line")

    def test_two_measures_have_no_bar(self):
        with tempfile.TemporaryDirectory() as directory:
            ledger = Ledger(Path(directory) / "c.csv", page.COLUMNS)
            blank = dict.fromkeys(page.COLUMNS, "") | {"subject": "memcached-capacity", "at": page.SINCE, "seconds": 100, "low": 1 / 1.1, "high": 1.1}
            for release, unit, high in [(page.BEFORE, "/s", 1.1), (page.NOW, "/s", 1.04), (page.NOW, page.CPU_TIME, 1.01)]:
                ledger.append(blank | {"commit": release, "unit": unit, "low": 1 / high, "high": high})
            text = page.write(ledger)
        former = "| memcached, capacity, quick; by the former definition | 1 of 1, 1 of 1 | ±10.0% | 100 s | ±4.0% | 100 s | 0.40 | – |"
        self.assertIn(former, text)
        self.assertIn("| memcached, capacity, quick; now CPU time an operation | 1 of 1, 1 of 1 | ±10.0% | 100 s | ±1.0% | 100 s | 0.10 | – |", text)

    def test_a_sustained_capacity_has_the_bar(self):
        with tempfile.TemporaryDirectory() as directory:
            ledger = Ledger(Path(directory) / "c.csv", page.COLUMNS)
            for release, high in [(page.BEFORE, 1.1), (page.NOW, 1.04)]:
                row = dict.fromkeys(page.COLUMNS, "") | {"subject": "nginx-capacity", "seconds": 100, "low": 1 / high, "high": high}
                ledger.append(row | {"at": "2026-12-01T00:00:00Z", "commit": release, "unit": "/s"})
            text = page.write(ledger)
        self.assertIn("| nginx, capacity, quick | 1 of 1, 1 of 1 | ±10.0% | 100 s | ±4.0% | 100 s | 0.40 | ≤ 0.5: met |", text)


if __name__ == "__main__":
    unittest.main()
