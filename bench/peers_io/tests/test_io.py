"""Tests of how the output of runner and fio is parsed, and that both get the same work."""

from __future__ import annotations

import json
import unittest
from collections import Counter
from pathlib import Path

from shared.errors import BadRun
from shared.showdown import ENGINE
from peers_io import fio, histogram, report, runner
from peers_io.cases import CASES

# From HdrHistogram's library for Java: 1 three times, 120 once, 2,047 twice, 5,000 and 1,000,000 once each.
ENCODED = "HISTFAAAACx4nJNpmSzMwMDAxwABzFCaEUzy//9v/wEqwvaakalbjuWwMNPvKiYAqd8IhQ=="
VALUES = {1: 3, 120: 1, 2047: 2, 5000: 1, 999936: 1}
"""The lowest values of their buckets, the last two of which are 4 and 512 wide."""

FIO_OUTPUT = json.dumps({"jobs": [{"error": 0, "read": {
    "total_ios": 9000, "iops": 4500.5, "lat_ns": {"percentile": {"50.000000": 208_896, "99.000000": 528_384}},
}}]})  # fmt: skip


class Histograms(unittest.TestCase):
    def test_values_are_decoded(self):
        self.assertEqual(histogram.decode(ENCODED), Counter(VALUES))

    def test_percentiles_are_shares_of_the_counts(self):
        counts = Counter({100: 98, 200: 1, 300: 1})
        self.assertEqual([histogram.at_share(counts, share) for share in (0.5, 0.99, 1.0)], [100, 200, 300])

    def test_other_data_is_refused(self):
        with self.assertRaises(ValueError):
            histogram.decode("AAAAAAAAAAA=")


class Fio(unittest.TestCase):
    def test_results_are_parsed(self):
        expected = {"transfers_per_s": 4500.5, "p50_us": 208.896, "p99_us": 528.384}
        # Warnings come first.
        self.assertEqual(fio.figures("fio: a warning\n" + FIO_OUTPUT, "read"), expected)

    def test_a_run_with_errors_does_not_count(self):
        with self.assertRaises(BadRun):
            fio.figures(FIO_OUTPUT.replace('"error": 0', '"error": 5'), "read")

    def test_runner_and_fio_get_the_same_work(self):
        for case in CASES:
            of_runner = runner.argv("showdown", case, Path("/d"))
            of_fio = fio.argv(case, Path("/d/file"), 0.5, 2)
            self.assertIn(f"--buffer={case.buffer}", of_runner)
            self.assertIn(f"--bs={case.buffer}", of_fio)
            self.assertEqual("--cache=direct" in of_runner, "--direct=1" in of_fio)
            self.assertEqual("--sync=data" in of_runner, "--sync=dsync" in of_fio)


class Bars(unittest.TestCase):
    def test_the_distance_is_that_of_the_median_ratio_within_a_round(self):
        case = CASES[0]
        rows = [
            {"round": n, "case": case.name, "client": client, "transfers_per_s": speed * factor}
            for n, factor in enumerate((1, 2, 3), start=1)
            for client, speed in ((ENGINE, 98), (report.PEER, 100))
        ]
        bar = report.bars(rows)[0]
        self.assertAlmostEqual(bar.figure.middle, 0.02)
        self.assertTrue(bar.is_met)
        self.assertFalse(report.bars(rows)[1].is_met, "a case without rows is not met")
