"""What the page says of its rows."""

import tempfile
import unittest
from pathlib import Path

from olio import page, pieces
from olio.compared import PARTS
from olio.knee import knee, points, row

AT = {"at": "2026-11-29T23:00:00Z", "commit": "abc", "builds": "release", "beside": ""}


class Page(unittest.TestCase):
    """The page of made-up rows."""

    def test_data_that_took_too_long_miss_their_bar(self):
        with tempfile.TemporaryDirectory() as directory:
            ledgers = page.ledgers(Path(directory))
            sizes = {"database_mb": 300, "assets_mb": 100, "same": "yes"}
            ledgers["data"].append(AT | {"rows": 100, "seconds": 14.2} | sizes)
            ledgers["data"].append(AT | {"rows": 1000, "seconds": 90.1} | sizes)
            text = page.write(ledgers, Path(directory))
        self.assertIn("at most 15 s: met", text)
        self.assertIn("at most 90 s: **not met**", text)

    def test_a_comparison_has_a_line_for_each_server(self):
        row = AT | {"command": "compare a b", "users": 100, "seconds": 300, "a": "a", "b": "b", "verdict": "inconclusive", "ratio": "", "low": "", "high": ""}
        parts = {f"{part}_us": 10.0 for part in PARTS}
        with tempfile.TemporaryDirectory() as directory:
            ledgers = page.ledgers(Path(directory))
            for server in ("a", "b"):
                ledgers["comparisons"].append(
                    row | parts | {"server": server, "valid": 6, "invalid": 1, "cpu_us": 50.0, "users_per_core": 2000, "memory_mb": 300}
                )
            text = page.write(ledgers, Path(directory))
        self.assertIn("1 comparison and 0 sweeps by", text)
        self.assertEqual(text.count("6 of 7"), 2)

    def test_the_knee_is_the_last_point_before_the_first_that_does_not_pass(self):
        def point(users: int, outcome: str) -> dict:
            gates = [{"id": "users", "outcome": outcome}]
            variant = {"name": "olio-php", "point": {"users": users}, "valid": 3, "invalid": 0, "median": 2_000.0}
            return row(variant, {"machine": "on 1 CPU"}, [{"gates": gates, "reasons": []}] * 3)

        rows = [point(400, "failed"), point(100, "passed"), point(200, "passed"), point(800, "passed")]
        self.assertEqual(knee(rows)["users"], 200)
        self.assertIsNone(knee(rows[:1]))
        with tempfile.TemporaryDirectory() as directory:
            ledgers = page.ledgers(Path(directory))
            for each in rows:
                ledgers["knees"].append(AT | each)
            text = page.write(ledgers, Path(directory))
        self.assertIn("| olio-php | 200 users | on 1 CPU | – |", text)

    def test_points_are_around_the_users_that_the_cpu_time_leaves_room_for(self):
        self.assertEqual(points(1_000), [250, 500, 700, 850, 1_000, 1_200])
        self.assertEqual(points(50), [25, 35, 42, 50, 60], "the original has 25 users at least")

    def test_pieces_are_named_one_by_one_or_by_their_group(self):
        self.assertEqual(pieces.named(["data", "data-100", "knee-php"]), ["data-100", "data-1000", "knee-php"])


if __name__ == "__main__":
    unittest.main()
