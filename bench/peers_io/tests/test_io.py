"""What both print is read as it stands, and the same is asked of both."""

from __future__ import annotations

import json
import unittest
from collections import Counter
from pathlib import Path

from peers.clients import BadRun
from peers_io import fio, histogram, report, runner
from peers_io.cases import CASES

# Made by HdrHistogram's library for Java: 1 three times, 120 once, 2,047 twice, 5,000 and 1,000,000 once each.
ENCODED = "HISTFAAAACx4nJNpmSzMwMDAxwABzFCaEUzy//9v/wEqwvaakalbjuWwMNPvKiYAqd8IhQ=="
VALUES = {1: 3, 120: 1, 2047: 2, 5000: 1, 999936: 1}
"""The lowest of their buckets, which become 4 and 512 wide."""

FIO_OUTPUT = json.dumps({"jobs": [{"error": 0, "read": {
    "total_ios": 9000, "iops": 4500.5, "lat_ns": {"percentile": {"50.000000": 208_896, "99.000000": 528_384}},
}}]})  # fmt: skip


class Histograms(unittest.TestCase):
    def test_values_are_found_again(self):
        self.assertEqual(histogram.decode(ENCODED), Counter(VALUES))

    def test_shares_are_of_counts(self):
        counts = Counter({100: 98, 200: 1, 300: 1})
        self.assertEqual([histogram.at_share(counts, share) for share in (0.5, 0.99, 1.0)], [100, 200, 300])

    def test_other_bytes_are_refused(self):
        with self.assertRaises(ValueError):
            histogram.decode("AAAAAAAAAAA=")


class Fio(unittest.TestCase):
    def test_results_are_read(self):
        expected = {"transfers_per_s": 4500.5, "p50_us": 208.896, "p99_us": 528.384}
        # What it warns of comes first.
        self.assertEqual(fio.figures("fio: a warning\n" + FIO_OUTPUT, "read"), expected)

    def test_errors_do_not_count(self):
        with self.assertRaises(BadRun):
            fio.figures(FIO_OUTPUT.replace('"error": 0', '"error": 5'), "read")

    def test_both_are_asked_for_the_same(self):
        for case in CASES:
            ours = runner.argv("showdown", case, Path("/d"))
            theirs = fio.argv(case, Path("/d/file"), 0.5, 2)
            self.assertIn(f"--buffer={case.buffer}", ours)
            self.assertIn(f"--bs={case.buffer}", theirs)
            self.assertEqual("--cache=direct" in ours, "--direct=1" in theirs)
            self.assertEqual("--sync=data" in ours, "--sync=dsync" in theirs)


class Bars(unittest.TestCase):
    def test_they_are_apart_by_the_median_of_ratios_within_a_round(self):
        case = CASES[0]
        rows = [
            {"round": n, "case": case.name, "client": client, "transfers_per_s": speed * factor}
            for n, factor in enumerate((1, 2, 3), start=1)
            for client, speed in ((report.OURS, 98), (report.PEER, 100))
        ]
        bar = report.bars(rows)[0]
        self.assertAlmostEqual(bar.figure.middle, 0.02)
        self.assertTrue(bar.is_met)
        self.assertFalse(report.bars(rows)[1].is_met, "not measured")
