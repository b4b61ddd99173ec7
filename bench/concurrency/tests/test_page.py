"""The bars of the page."""

import unittest

from concurrency.page import COLUMNS, MOST, late_reads


class LateReads(unittest.TestCase):
    def test_the_bar_is_the_programs_own(self):
        row = dict.fromkeys(COLUMNS, "1") | {"run": MOST, "client_late_p99_us": "3117055"}
        [met] = late_reads(row | {"client_late_limit_us": "3430000"})
        self.assertEqual((met.limit, met.is_met), (3.43, True))
        [missed] = late_reads(row | {"client_late_limit_us": "1000000"})
        self.assertEqual((missed.limit, missed.is_met), (1.0, False))

    def test_without_the_largest_run_there_is_no_such_bar(self):
        self.assertEqual(late_reads(None), [])


if __name__ == "__main__":
    unittest.main()
