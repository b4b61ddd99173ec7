"""Logs of histograms are counted, and rows become the lines of the page."""

import base64
import struct
import tempfile
import unittest
import zlib
from pathlib import Path

from shared.ledger import Ledger
from sustained import hlog, page, truth
from sustained.cases import CASES


def zigzag(number: int) -> bytes:
    value, out = number << 1 if number >= 0 else (-number << 1) - 1, b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def histogram(counts: bytes) -> str:
    payload = struct.pack(">iiiiqqd", 0x1C849303, len(counts), 0, 3, 1, 3_600_000_000, 1.0) + counts
    packed = zlib.compress(payload)
    return base64.b64encode(struct.pack(">ii", 0x1C849304, len(packed)) + packed).decode()


class Hlog(unittest.TestCase):
    def test_times_at_the_limit_and_above_are_counted(self):
        # Three of 100 µs, two of 4,096 µs (index 3,072) and one of 8,192 µs (index 4,096).
        counts = zigzag(-100) + zigzag(3) + zigzag(-(3_072 - 101)) + zigzag(2) + zigzag(-(4_096 - 3_073)) + zigzag(1)
        with tempfile.TemporaryDirectory() as directory:
            log = Path(directory) / "load.hlog"
            log.write_text(f'#[comment]\n"StartTimestamp"\nTag=get.response,0.0,1.0,8.2,{histogram(counts)}\nTag=get.service,0.0,1.0,8.2,{histogram(counts)}\n')
            self.assertEqual(hlog.late(log, 4_096), (3, 6))
            self.assertEqual(hlog.late(log, 5_000), (1, 6))


class Page(unittest.TestCase):
    def test_a_search_without_a_capacity_is_not_held(self):
        with tempfile.TemporaryDirectory() as directory:
            held, winners = Ledger(Path(directory) / "held.csv", page.HELD), Ledger(Path(directory) / "winners.csv", page.WINNERS)
            for late in ("0.01", "0.02", ""):
                held.append({"at": "2026-11-28T00:00:00Z", "case": CASES[0].name, "capacity_per_s": "9" if late else "", "late_share": late})
            text = page.write(held, winners)
            self.assertIn("| steady | 3 | 9/s | 1.50% | 1 of 3 | – | – |", text)
            self.assertIn("3 searches", text)

    def test_a_search_at_a_tenth_of_the_truth_is_not_near_it(self):
        with tempfile.TemporaryDirectory() as directory:
            held, winners = Ledger(Path(directory) / "held.csv", page.HELD), Ledger(Path(directory) / "winners.csv", page.WINNERS)
            for capacity in (3_000, 30_000):
                row = {"at": "2026-12-01T00:00:00Z", "case": CASES[0].name, "capacity_per_s": capacity, "late_share": "0.001"}
                held.append(row | {"truth_low": 30_000, "truth_high": 31_000})
            self.assertIn("| 2 of 2 | 30,000/s | 1 of 2 |", page.write(held, winners))


class Truth(unittest.TestCase):
    def test_the_highest_rate_is_found_from_above_and_from_below_by_few_loads(self):
        for found in (8_000.0, 10_000.0, 14_000.0):
            loads = []
            low, high = truth.between(found, lambda rate: loads.append(rate) or rate <= 10_000)
            self.assertTrue(low <= 10_000 < high <= 1.05 * low, (low, high))
            self.assertLessEqual(len(loads), 7)
        self.assertIsNone(truth.between(1_000.0, lambda _: True))
