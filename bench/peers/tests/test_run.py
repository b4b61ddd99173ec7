"""The schedule, the store and the figures."""

import tempfile
import unittest
from pathlib import Path

from peers import schedule
from peers.clients import CLIENTS
from peers.figures import Figures
from peers.store import OtherRun, Store


class Schedule(unittest.TestCase):
    """Interleaved, in random order, the same from the same seed."""

    def test_every_client_has_one_turn_in_every_round(self):
        steps = [step for step in schedule.plan(rounds=7, seed=1) if step.table == "cycles"]
        for number in range(1, 8):
            turns = [step.client for step in steps if step.round == number]
            self.assertCountEqual([c.name + c.protocol for c in turns], [c.name + c.protocol for c in CLIENTS])

    def test_the_order_follows_from_the_seed_and_differs_between_rounds(self):
        keys = [step.key for step in schedule.plan(rounds=3, seed=1)]
        self.assertEqual(keys, [step.key for step in schedule.plan(rounds=3, seed=1)])
        self.assertNotEqual(keys, [step.key for step in schedule.plan(rounds=3, seed=2)])

    def test_no_two_steps_have_the_same_row(self):
        rows = [(step.table, step.key) for step in schedule.plan(rounds=7, seed=1)]
        self.assertEqual(len(rows), len(set(rows)))


class StoreAndFigures(unittest.TestCase):
    """Rows survive a stop; ratios are taken within a round."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.store = Store(Path(directory.name) / "run")
        self.store.open({"date": "today", "rounds": 2})

    def add(self, number: int, client: str, cycles: float):
        self.store.add(
            "cycles", {"round": number, "protocol": "http", "client": client, "order": 1, "all_cycles": cycles}
        )

    def test_a_run_goes_on_where_it_stopped(self):
        self.add(1, "wrk", 10)
        again = Store(self.store.directory)
        again.open({"date": "tomorrow", "rounds": 2})
        self.assertTrue(again.has("cycles", (1, "http", "wrk")))
        self.assertFalse(again.has("cycles", (2, "http", "wrk")))

    def test_a_run_with_other_settings_is_refused(self):
        with self.assertRaisesRegex(OtherRun, "another rounds"):
            Store(self.store.directory).open({"date": "today", "rounds": 7})

    def test_ratios_are_taken_round_by_round(self):
        for number, (ours, theirs) in enumerate([(8, 10), (16, 20), (33, 30)], start=1):
            self.add(number, "showdown", ours)
            self.add(number, "wrk", theirs)
        ratio = Figures(self.store).ratio(("http", "showdown"), ("http", "wrk"), "all_cycles")
        self.assertEqual((ratio.middle, ratio.least, ratio.most), (0.8, 0.8, 1.1))


if __name__ == "__main__":
    unittest.main()
