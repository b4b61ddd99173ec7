"""Tests of the schedule, the store and the ratios."""

import tempfile
import unittest
from pathlib import Path

from peers import schedule, tables
from peers.clients import CLIENTS, named
from peers.figures import Figures
from shared.store import OtherRun


class Schedule(unittest.TestCase):
    """Trials are interleaved in random order, and the same seed gives the same order."""

    def test_every_round_runs_every_client_once(self):
        steps = [step for step in schedule.plan(rounds=7, seed=1) if step.table == "cycles"]
        for number in range(1, 8):
            turns = [step.client for step in steps if step.round == number]
            self.assertCountEqual([c.name + c.protocol for c in turns], [c.name + c.protocol for c in CLIENTS])

    def test_the_seed_determines_the_order(self):
        keys = [step.key for step in schedule.plan(rounds=3, seed=1)]
        self.assertEqual(keys, [step.key for step in schedule.plan(rounds=3, seed=1)])
        self.assertNotEqual(keys, [step.key for step in schedule.plan(rounds=3, seed=2)])

    def test_every_step_has_its_own_row(self):
        rows = [(step.table, step.key) for step in schedule.plan(rounds=7, seed=1)]
        self.assertEqual(len(rows), len(set(rows)))


    def test_named_peers_run_in_each_round_and_are_compared_at_a_rate(self):
        steps = schedule.plan(rounds=2, seed=1, clients=named(["zrk", "gcannon"]))
        once = [step.client.name for step in steps if step.table == "cycles" and step.round == 1]
        self.assertEqual((once.count("zrk"), once.count("gcannon")), (1, 1))
        paced = {step.client.name for step in steps if step.table == "paced"}
        self.assertEqual(paced, {"showdown", "zrk"})
        self.assertFalse([step for step in schedule.plan(rounds=2, seed=1) if step.table == "paced"])


class StoreAndFigures(unittest.TestCase):
    """A stopped bench keeps its rows, and ratios are computed within a round."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.store = tables.store(Path(directory.name) / "run")
        self.store.open({"date": "today", "rounds": 2})

    def add(self, number: int, client: str, cycles: float):
        self.store.add(
            "cycles", {"round": number, "protocol": "http", "client": client, "order": 1, "all_cycles": cycles}
        )

    def test_a_stopped_bench_continues_with_its_rows(self):
        self.add(1, "wrk", 10)
        again = tables.store(self.store.directory)
        again.open({"date": "tomorrow", "rounds": 2})
        self.assertTrue(again.has("cycles", (1, "http", "wrk")))
        self.assertFalse(again.has("cycles", (2, "http", "wrk")))

    def test_a_bench_with_other_settings_is_refused(self):
        with self.assertRaisesRegex(OtherRun, "another rounds"):
            tables.store(self.store.directory).open({"date": "today", "rounds": 7})

    def test_ratios_are_computed_within_each_round(self):
        for number, (engine, peer) in enumerate([(8, 10), (16, 20), (33, 30)], start=1):
            self.add(number, "showdown", engine)
            self.add(number, "wrk", peer)
        ratio = Figures(self.store).ratio(("http", "showdown"), ("http", "wrk"), "all_cycles")
        self.assertEqual((ratio.middle, ratio.least, ratio.most), (0.8, 0.8, 1.1))

    def test_the_cost_of_a_client_is_without_its_spinning(self):
        row = {"round": 1, "protocol": "http", "order": 1, "all_cycles": 100, "requests_per_s": 100_000}
        self.store.add("cycles", {**row, "client": "showdown", "client_cpu": 0.8, "spin_share": 0.25})
        self.store.add("cycles", {**row, "client": "wrk", "client_cpu": 0.9})
        figures, engine, wrk = Figures(self.store), ("http", "showdown"), ("http", "wrk")
        self.assertAlmostEqual(figures.figure("cycles", *engine, "cpu_us").middle, 8)
        self.assertAlmostEqual(figures.figure("cycles", *engine, "work_cpu_us").middle, 6)
        self.assertAlmostEqual(figures.figure("cycles", *wrk, "work_cpu_us").middle, 9)
        self.assertAlmostEqual(figures.ratio(engine, wrk, "work_all_cycles").middle, 0.75)


if __name__ == "__main__":
    unittest.main()
