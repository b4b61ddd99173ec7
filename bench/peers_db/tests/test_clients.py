"""Tests of how the clients' output is parsed, and of the bars."""

from __future__ import annotations

import unittest

from shared.errors import BadRun
from peers_db import report
from peers_db.clients import CLIENTS, PGBENCH, SYSBENCH

SYSBENCH_OUTPUT = """
    transactions:                        171052 (57005.61 per sec.)
    queries:                             171052 (57005.61 per sec.)
    ignored errors:                      0      (0.00 per sec.)
"""
PGBENCH_OUTPUT = """
number of transactions actually processed: 123456
number of failed transactions: 0 (0.000%)
tps = 41152.5 (without initial connection time)
"""


def claimed(name: str, output: str):
    client = next(client for client in CLIENTS if client.name == name)
    return client.claimed(output)


class Clients(unittest.TestCase):
    def test_results_are_parsed(self):
        self.assertEqual(claimed(SYSBENCH, SYSBENCH_OUTPUT), (171052, 57005.61))
        self.assertEqual(claimed(PGBENCH, PGBENCH_OUTPUT), (123456, 41152.5))

    def test_a_run_with_errors_does_not_count(self):
        with self.assertRaises(BadRun):
            claimed(SYSBENCH, SYSBENCH_OUTPUT.replace("errors:                      0 ", "errors: 7 "))
        with self.assertRaises(BadRun):
            claimed(PGBENCH, PGBENCH_OUTPUT.replace("failed transactions: 0", "failed transactions: 3"))


class Bars(unittest.TestCase):
    def test_ratios_are_computed_within_a_round(self):
        rows = [
            {"round": n, "server": "mariadb", "client": client, "all_cycles": cycles, "statements_per_s": 100}
            for n, factor in enumerate((1, 2), start=1)
            for client, cycles in (("showdown", 50 * factor), ("sysbench", 100 * factor))
        ]
        bars = {bar.what: bar for bar in report.bars(rows)}
        self.assertTrue(bars["MariaDB, all client cycles per query, × sysbench"].is_met)
        self.assertFalse(bars["PostgreSQL, all client cycles per query, × pgbench -S"].is_met)
