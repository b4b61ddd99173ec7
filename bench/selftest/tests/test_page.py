"""Tests of the page."""

import tempfile
import unittest
from pathlib import Path

from selftest import page
from shared.ledger import Ledger


def _answer(fitness: str = "fit", floor_us: int = 30, server_part_us: float = 18.5) -> dict:
    floor = {"min_latency_us": floor_us, "server_part_us": server_part_us}
    return {"fitness": fitness, "reasons": [] if fitness == "fit" else ["late sends"], "floor": floor, "steal": 0.0012}


def _page(*tests: tuple[dict, float]) -> str:
    with tempfile.TemporaryDirectory() as directory:
        ledger = Ledger(Path(directory) / "t.csv", page.COLUMNS)
        for answer, seconds in tests:
            ledger.append(page.row(answer, "abc", seconds))
        return page.write(ledger)


class Page(unittest.TestCase):
    """The bars count the last ten tests."""

    def test_ten_fit_tests_in_a_row_meet_the_bar(self):
        text = _page((_answer("unfit"), 50), *[(_answer("fit_with_limits"), 50)] * 10)
        self.assertIn("10 times in a row | met | 10 of the last 10 |", text)
        self.assertIn("10 FIT WITH LIMITS, 1 UNFIT", text)

    def test_an_unfit_or_a_long_test_does_not(self):
        for miss in [(_answer("unfit"), 50), (_answer(), 61)]:
            self.assertIn("**not met** | 9 of the last 10 |", _page(*[(_answer(), 50)] * 9, miss))

    def test_nine_tests_are_not_ten(self):
        self.assertIn("not reached yet | 9 of the last 9 |", _page(*[(_answer(), 50)] * 9))

    def test_what_the_client_adds_is_the_floor_without_the_servers_part(self):
        self.assertIn("| met | 11.5 µs (median), 11.5 µs (most) |", _page((_answer(), 50)))
        self.assertIn("**not met** | 30.0 µs", _page((_answer(floor_us=40, server_part_us=10.0), 50)))

    def test_a_test_without_a_floor_has_a_line(self):
        self.assertIn("| FIT | 50 s | – | – | – | 0.12% | – |", _page((_answer() | {"floor": None}, 50)))


if __name__ == "__main__":
    unittest.main()
