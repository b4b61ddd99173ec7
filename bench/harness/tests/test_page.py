"""Tests of the page and of its percentiles."""

import unittest

from harness import page, samples

SETTINGS = {
    "date": "2026-11-30", "CPUs": "2, 1 thread(s) a core", "controllers": 2, "watchers": 3, "entries": 1000, "lines": 4.0, "seconds": 5,
    "kills": 7, "runs": 20, "calls": 2, "seed": 1, "beside": "a build",
}  # fmt: skip


class Page(unittest.TestCase):
    """Percentiles and bars."""

    def test_a_percentile_is_a_value_that_was_measured(self):
        rows = samples.rows("SQLite", 0, "claim", [float(value) for value in range(1, 201)])
        self.assertEqual([samples.percentile(rows, share) for share in (0.5, 0.99, 1.0)], [100.0, 198.0, 200.0])
        self.assertEqual(samples.percentile(samples.rows("SQLite", 0, "claim", [7.0]), 0.99), 7.0)
        self.assertEqual(samples.count(samples.rows("SQLite", 0, "claim", [7.0, 7.001, 8.0])), 3)

    def test_the_bars_are_of_each_store_and_of_the_slowest_list(self):
        rows = samples.rows("SQLite", 0, "claim", [3.0]) + samples.rows("PostgreSQL", 0, "claim", [30.0])
        rows += samples.rows("–", 20, "search: a text", [4.0]) + samples.rows("–", 20, "search: another text", [400.0])
        text = page.page(rows, SETTINGS)
        self.assertRegex(text, r"all that wait, p99, ms, PostgreSQL \| ≤ 20 \| 30.0 \| \*\*not met\*\*")
        self.assertRegex(text, r"all that wait, p99, ms, SQLite \| ≤ 20 \| 3.0 \| met")
        self.assertRegex(text, r"search of a text, p99, ms, 20 runs \| ≤ 150 \| 400 \| \*\*not met\*\*")
        self.assertIn("a build", text)

    def test_what_must_not_happen_is_a_bar_of_zero(self):
        rows = samples.rows("SQLite", 0, "killed: server", [7.0]) + samples.rows("SQLite", 0, page.NOTHING[0], [1.0])
        self.assertRegex(page.page(rows, SETTINGS), r"entries that vanished, 7 kills, SQLite \| ≤ 0 \| 1 \| \*\*not met\*\*")


if __name__ == "__main__":
    unittest.main()
