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


if __name__ == "__main__":
    unittest.main()
