"""Tests of sentences and tables."""

import unittest

from shared.figures import Bar, Figure
from shared.markdown import bars_table, plural, show_figure, table, verdict


class Sentences(unittest.TestCase):
    """Counts and verdicts."""

    def test_a_count_of_one_is_singular(self):
        self.assertEqual(plural(1, "false verdict"), "1 false verdict")
        self.assertEqual(plural(0, "false verdict"), "0 false verdicts")
        self.assertEqual(plural(1200, "process", "processes"), "1,200 processes")

    def test_the_verdict_names_the_bars_that_are_not_met(self):
        met = Bar("fast", 1, True, Figure.of([2.0]))
        missed = Bar("small", 1, False, Figure.of([2.0]))
        self.assertEqual(verdict([met, missed]), "1 of 2 bars are met. Not met: small.")
        self.assertEqual(verdict([met]), "1 of 1 bar is met.")


class Tables(unittest.TestCase):
    """Figures in cells."""

    def test_a_figure_shows_its_range_where_there_is_one(self):
        self.assertEqual(show_figure(Figure.of([1.0, 2.0, 4.0])), "2 (1–4)")
        self.assertEqual(show_figure(Figure.of([2.0])), "2")
        self.assertEqual(show_figure(None), "–")

    def test_numbers_are_aligned_to_the_right(self):
        self.assertEqual(table(["a", "b"], [["x", "1"]], numbers=True), "| a | b |\n| --- | --: |\n| x | 1 |")

    def test_a_bar_without_a_figure_is_not_measured(self):
        self.assertIn("| fast | ≥ 1 | – | not measured |", bars_table([Bar("fast", 1, True, None)]))


if __name__ == "__main__":
    unittest.main()
