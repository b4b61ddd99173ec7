"""Tests of the exact interval, the rows and the page."""

import tempfile
import unittest
from pathlib import Path

from aa import comparison, page
from aa.subjects import SUBJECTS
from shared import binomial
from shared.ledger import Ledger


class Binomial(unittest.TestCase):
    """Compared with the tables of Clopper and Pearson."""

    def test_the_exact_interval_of_known_cases(self):
        for successes, attempts, low, high in [(0, 10, 0.0, 0.3085), (5, 100, 0.0164, 0.1128), (10, 10, 0.6915, 1.0)]:
            found = binomial.interval(successes, attempts)
            self.assertAlmostEqual(found[0], low, places=4)
            self.assertAlmostEqual(found[1], high, places=4)


class Rows(unittest.TestCase):
    """Answers become rows, and rows become the page."""

    def answer(self, a, b, low, high):
        estimate = {"ratio": (low * high) ** 0.5, "low": low, "high": high, "blocks": 6}
        values = [{"trial": 1, "value": 123456.7, "valid": True}, {"trial": 4, "value": 2.0, "valid": False}]
        return {
            "comparisons": [{"a": a, "b": b, "estimate": estimate, "verdict": {"outcome": "difference"}}],
            "unit": "/s",
            "variants": [{"name": "first", "values": values}, {"name": "second", "values": values}],
        }

    def test_the_ratio_is_the_first_variants_by_the_second_in_both_orders(self):
        straight = comparison.row(self.answer("first", "second", 1.25, 2.0), SUBJECTS[0], 1, "abc", 30.0)
        turned = comparison.row(self.answer("second", "first", 1.25, 2.0), SUBJECTS[0], 1, "abc", 30.0)
        self.assertEqual((straight["low"], straight["high"]), ("1.25000", "2.00000"))
        self.assertEqual((turned["low"], turned["high"]), ("0.50000", "0.80000"))

    def test_a_row_keeps_its_valid_trials(self):
        row = comparison.row(self.answer("first", "second", 1.25, 2.0), SUBJECTS[0], 1, "abc", 30.0)
        self.assertEqual((row["first"], row["trials"], row["valid"]), ("1:123457", 4, 2))

    def page_of(self, *commits, of_precision=()):
        """The page of false verdicts of these commits."""

        def false_verdict(commit):
            return comparison.row(self.answer("first", "second", 1.1, 1.2), SUBJECTS[0], 1, commit, 30.0)

        with tempfile.TemporaryDirectory() as directory:
            ledger = {name: Ledger(Path(directory) / name, page.COLUMNS["comparisons"]) for name in ("own", "precision")}
            for commit in commits:
                ledger["own"].append(false_verdict(commit))
            for commit in of_precision:
                ledger["precision"].append(false_verdict(commit))
            return page.write(ledger["own"], Ledger(Path(directory) / "naive", page.COLUMNS["naive"]), ledger["precision"])

    def test_a_capacity_of_the_former_definition_is_in_no_bar(self):
        self.assertTrue(comparison.is_former_capacity({"subject": "nginx-capacity", "unit": "/s", "at": "2026-11-27T00:00:00Z"}))
        self.assertFalse(comparison.is_former_capacity({"subject": "nginx-capacity", "unit": "/s", "at": "2026-12-01T00:00:00Z"}))
        self.assertFalse(comparison.is_former_capacity({"subject": "memcached-capacity", "unit": "µs", "at": "2026-11-27T00:00:00Z"}))
        self.assertFalse(comparison.is_former_capacity({"subject": "nginx-closed", "unit": "/s", "at": "2026-11-27T00:00:00Z"}))

    def test_one_false_verdict_is_singular(self):
        self.assertIn("1 false verdict in 1 comparison,", self.page_of("abc"))

    def test_what_bench_precision_compared_with_the_present_release_counts_too(self):
        text = self.page_of("abc", of_precision=[comparison.NOW, comparison.BEFORE])
        self.assertIn("2 false verdicts in 2 comparisons,", text)
        self.assertIn("- 1 comparison of equal servers is by `make bench-precision`.", text)

    def test_a_difference_between_equal_variants_is_a_false_verdict(self):
        text = self.page_of("abc", "abc", "abc")
        self.assertIn("| 3 | 3 | 100.0% (29.2%–100.0%) |", text)
        self.assertIn("3 false verdicts in 3 comparisons, 100.0% (29.2%–100.0%). Bar: at most 5% of at least 200: **not met** so far, in 3", text)


if __name__ == "__main__":
    unittest.main()
