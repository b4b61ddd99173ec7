"""Tests of the clients' response times, the arithmetic of a freeze, and the page."""

import tempfile
import unittest
from pathlib import Path

from truth import cases, clients, report


class Outputs(unittest.TestCase):
    """Relevant lines, copied from real runs."""

    def test_wrk(self):
        reported = clients.READERS["wrk"](
            "    Latency   644.62us    1.22ms  31.22ms   97.64%\n"
            "  Latency Distribution\n     50%  391.00us\n     75%  487.00us\n     90%  1.24ms\n     99%  2.00s\n"
            "  36829 requests in 2.00s, 9.62MB read\n"
        )
        self.assertEqual((reported.requests, reported.p50, reported.p90, reported.p99), (36829, 391, 1240, 2e6))
        self.assertEqual((reported.longest, reported.p95), (31220, None))

    def test_ab(self):
        reported = clients.READERS["ab"](
            "Complete requests:      50000\nFailed requests:        0\n"
            "  50%      1\n  90%      2\n  95%      2\n  99%      4\n 100%     12 (longest request)\n"
        )
        self.assertEqual((reported.requests, reported.p50, reported.p99, reported.longest), (50000, 1000, 4000, 12000))

    def test_h2load_prints_no_percentiles(self):
        reported = clients.READERS["h2load"](
            "requests: 9 total, 9 started, 9 done, 8 succeeded, 1 failed, 0 errored, 0 timeout\n"
            "                     min         max         mean         sd        +/- sd\n"
            "time for request:      137us      3.39ms       471us       269us    86.55%\n"
        )
        self.assertEqual((reported.requests, reported.failed, reported.longest, reported.p50), (8, 1, 3390, None))

    def test_hey(self):
        reported = clients.READERS["hey"](
            "  Slowest:\t0.0203 secs\n  50% in 0.0011 secs\n  99%% in 0.0084 secs\n  [200]\t52146 responses\n  [503]\t2 responses\n"
        )
        self.assertEqual((reported.requests, reported.failed, reported.longest), (52146, 2, 20300))
        self.assertAlmostEqual(reported.p50, 1100)
        self.assertAlmostEqual(reported.p99, 8400)


class Arithmetic(unittest.TestCase):
    """A freeze of one second in ten."""

    def test_a_freeze_is_half_a_second_at_p95(self):
        for quantile, seconds in ((0.5, 0), (0.95, 0.5), (0.99, 0.9), (1, 1)):
            self.assertAlmostEqual(cases.frozen_us(quantile, 0.0), seconds * 1e6)

    def test_queued_requests_take_time_after_a_freeze(self):
        self.assertAlmostEqual(cases.frozen_us(0.95, 0.1), 0.55e6)

    def test_a_cache_is_compared_with_a_server_that_is_warm_at_once(self):
        trial = lambda variant, value: {  # noqa: E731
            "variant": variant, "status": "valid", "measured": {"value": value}, "warm_up": {"discarded_s": 2.5}
        }  # fmt: skip
        (row,) = cases.steady_rows([trial("known:warms_ms=2000", 99), trial("known", 100), trial("known", 102)], 2000)
        self.assertEqual((row["warm_per_s"], row["measured_per_s"], row["discarded_s"]), (101, 99, 2.5))


class ThePage(unittest.TestCase):
    """The page of the rows so far."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.store = cases.store(Path(directory.name) / "run")
        self.store.open({"date": "today"})

    def test_names_of_cases_are_unique(self):
        names = [(case.table, case.name) for case in cases.all_cases()]
        self.assertEqual(len(names), len(set(names)))

    def test_times_have_three_digits_and_a_unit(self):
        times = [report.us(value) for value in (7, 999.6, 1380, 90_500, 999_600, "")]
        self.assertEqual(times, ["7 µs", "1.00 ms", "1.38 ms", "90.5 ms", "1.00 s", "–"])

    def test_a_table_without_rows_is_not_measured_yet(self):
        self.assertIn("Not measured yet.", report.page(self.store))

    def test_a_miss_is_marked(self):
        row = {"case": "c", "client": "showdown", "how": "itself", "connections": 1, "requests": 30000}
        for quantile, reported_us in (("p95", 509_000), ("p99", 880_000), ("max", 1_000_000)):
            true_us = {"p95": 0.5, "p99": 0.9, "max": 1.0}[quantile] * 1e6
            self.store.add("freeze", {**row, "quantile": quantile, "arithmetic_us": true_us, "reported_us": reported_us})
        page = report.page(self.store)
        self.assertIn("2 of 3 times of the engine are within 2 %", page)
        self.assertIn("| 880 ms of 900 ms **miss** |", page)


if __name__ == "__main__":
    unittest.main()
