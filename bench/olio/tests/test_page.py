"""What the page says of its rows."""

import tempfile
import unittest
from pathlib import Path

from olio import page

AT = {"at": "2026-11-29T23:00:00Z", "commit": "abc", "builds": "release", "beside": ""}


class Page(unittest.TestCase):
    """The page of made-up rows."""

    def test_data_that_took_too_long_miss_their_bar(self):
        with tempfile.TemporaryDirectory() as directory:
            ledgers = page.ledgers(Path(directory))
            sizes = {"database_mb": 300, "assets_mb": 100}
            ledgers["data"].append(AT | {"rows": 100, "seconds": 14.2} | sizes)
            ledgers["data"].append(AT | {"rows": 1000, "seconds": 90.1} | sizes)
            text = page.write(ledgers)
        self.assertIn("at most 15 s: met", text)
        self.assertIn("at most 90 s: **not met**", text)

    def test_a_comparison_has_a_line_for_each_server(self):
        row = AT | {"command": "compare a b", "users": 100, "seconds": 300, "a": "a", "b": "b", "verdict": "inconclusive", "ratio": "", "low": "", "high": ""}
        parts = {f"{part}_us": 10.0 for part in page.PARTS}
        with tempfile.TemporaryDirectory() as directory:
            ledgers = page.ledgers(Path(directory))
            for server in ("a", "b"):
                ledgers["comparisons"].append(
                    row | parts | {"server": server, "valid": 6, "invalid": 1, "cpu_us": 50.0, "users_per_core": 2000, "memory_mb": 300}
                )
            text = page.write(ledgers)
        self.assertIn("1 comparison by", text)
        self.assertEqual(text.count("6 of 7"), 2)


if __name__ == "__main__":
    unittest.main()
