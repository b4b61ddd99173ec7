"""Tests of how the clients' output is parsed, and of the bars."""

from __future__ import annotations

import json
import unittest

from shared.errors import BadRun
from peers_mail import report
from peers_mail.clients import CLIENTS, SOURCE, Task
from shared.showdown import ENGINE

TASK = Task(server=None, is_kept=False, connections=1, messages=7, engine="showdown")


def claimed(name: str, output: str):
    client = next(client for client in CLIENTS if client.name == name)
    return client.claimed(TASK, output)


def answer(requests: int, failed: int) -> str:
    return json.dumps(
        {"requests": requests, "failed": failed, "error_examples": {}, "errors": {}, "counters": {"messages": requests},
         "throughput_per_s": 70.0}
    )


class Clients(unittest.TestCase):
    def test_results_are_parsed(self):
        self.assertEqual(claimed(SOURCE, ""), (7, None))
        self.assertEqual(claimed(ENGINE, answer(7, 0)), (7, 70.0))

    def test_a_run_with_errors_does_not_count(self):
        with self.assertRaises(BadRun):
            claimed(SOURCE, "smtp-source: fatal: bad startup: 421 too many connections")
        with self.assertRaises(BadRun):
            claimed(ENGINE, answer(6, 1))


class Bars(unittest.TestCase):
    def test_ratios_are_computed_within_a_round(self):
        rows = [
            {"round": n, "server": where, "client": client, "all_cycles": cycles, "messages_per_s": 100}
            for n, factor in enumerate((1, 2), start=1)
            for where in report.PLACES
            for client, cycles in ((ENGINE, 70 * factor), (SOURCE, 100 * factor))
        ]
        self.assertTrue(all(bar.is_met for bar in report.bars(rows)))
        rows[0]["all_cycles"] = rows[len(rows) // 2]["all_cycles"] = 1000
        self.assertEqual(sum(not bar.is_met for bar in report.bars(rows)), 1)
