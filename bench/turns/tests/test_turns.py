"""Tests of the page, and of the plan without turns."""

import tempfile
import unittest
from pathlib import Path

from shared.ledger import Ledger
from turns import page, subjects


def _page(*ratios: tuple[float, float]) -> str:
    with tempfile.TemporaryDirectory() as directory:
        ledger = Ledger(Path(directory) / "c.csv", page.COLUMNS)
        for number, both in enumerate(ratios, start=1):
            for way, ratio in zip((subjects.IN_TURNS, subjects.ALONE), both, strict=True):
                row = dict.fromkeys(page.COLUMNS, "") | {"subject": "nginx-apache", "at": "2026-11-26T02:00:00Z", "seconds": 60}
                ledger.append(row | {"round": number, "way": way, "ratio": ratio})
        return page.write(ledger)


class Page(unittest.TestCase):
    """The two ways are compared within a round."""

    def test_the_difference_is_that_of_the_rounds_and_not_of_the_means(self):
        text = _page((3.0, 3.0), (3.3, 3.3), (2.7, 2.7))
        self.assertIn("| 1.000 ± 0.000 | met |", text)

    def test_a_beginning_that_is_a_tenth_slower_is_seen(self):
        text = _page((2.7, 3.0), (2.71, 3.0), (2.69, 3.0))
        self.assertIn("**not met**", text)

    def test_rounds_that_scatter_decide_nothing(self):
        self.assertIn("not decided yet", _page((2.7, 3.0), (3.3, 3.0)))
        self.assertIn("not decided yet (one round)", _page((2.7, 3.0)))

    def test_two_rounds_that_are_close_by_chance_decide_nothing(self):
        self.assertIn("not decided yet |", _page((3.0, 3.0), (3.02, 3.0)))


class Alone(unittest.TestCase):
    """A plan loses its turns and nothing else."""

    def test_the_section_of_the_turns_is_left_out(self):
        text = subjects.alone('blocks = 6\n\n[turns]\nload = "3s 150ms"\n\n[[variants]]\nname = "nginx"\n')
        self.assertNotIn("load", text)
        self.assertIn('[[variants]]\nname = "nginx"', text)
        with self.assertRaises(ValueError):
            subjects.alone(text)


if __name__ == "__main__":
    unittest.main()
