"""Tests of the bench of machines: plans with short phases, what an answer says, and the page."""

from __future__ import annotations

import tomllib
import unittest

from machines import cases, kills, measures, page, same


def row(case: str, number: int, what: str, known: object, measured: object, detail: str = "") -> dict[str, str]:
    return dict(zip(cases.COLUMNS, map(str, (case, number, what, known, measured, detail))))


ANSWER = {
    "comparisons": [{"verdict": {"outcome": "equal"}, "estimate": {"ratio": 1.001, "low": 0.99, "high": 1.012}}],
    "variants": [{"values": [{"valid": True}, {"valid": False}]}, {"values": [{"valid": True}]}],
}


class Machines(unittest.TestCase):
    def test_a_plan_has_short_phases(self):
        plan = '[load]\nload = "3s"\nrate = 200\n[warm_up]\nmin = "1s"\nmax = "8s"\nclosed_loop = "2s"\n'
        short = tomllib.loads(kills.shortened(plan))
        self.assertEqual(short["load"], {"load": "200ms", "rate": 200})
        self.assertEqual(short["warm_up"], {"min": "200ms", "max": "400ms", "closed_loop": "200ms"})

    def test_a_comparison_is_its_verdict(self):
        trials = [{"gates": [{"id": "counts", "outcome": "passed"}]}, {"gates": [{"id": "client", "outcome": "failed"}]}]
        found = same.of_answer(ANSWER, trials, 31.2)
        said = "1.0010 (0.9900 to 1.0120), 2 of 3 trials valid, 31 s, 1 invalid by client"
        self.assertEqual((found["measured"], found["detail"]), ("equal", said))
        comparison = {"verdict": {"outcome": "inconclusive"}, "estimate": None}
        without = same.of_answer({**ANSWER, "comparisons": [comparison]}, [], 31.2)
        self.assertTrue(without["detail"].startswith("no ratio, 2 of 3"))

    def test_a_warm_up_that_is_repeated_is_no_cost_of_ssh(self):
        trials = [
            {"block": 1, "started_unix_ms": 1_000, "duration_s": 9.0, "phases": [{"length_s": 1.2}, {"length_s": 2.3}]},
            {"block": 1, "started_unix_ms": 1_200, "duration_s": 9.0, "phases": [{"length_s": 1.2}, {"length_s": 2.3}]},
            {"block": 2, "started_unix_ms": 20_000, "duration_s": 10.4, "phases": [{"length_s": 1.2}, {"length_s": 1.2}, {"length_s": 2.3}]},
            {"block": 2, "started_unix_ms": 20_200, "duration_s": 10.0, "phases": [{"length_s": 1.2}, {"length_s": 2.3}]},
        ]
        self.assertEqual([round(seconds, 3) for seconds in measures.outside_of_loads(trials)], [2.2, 2.2])

    def test_every_case_has_a_bar_on_the_page(self):
        rows = [
            row("counts", 1, "replies", 20011.0, 20011.0),
            row("size", 1, "program, bytes", "", 20_000_000),
            row("size", 1, "static build, bytes", "", 31_000_000),
            row("kill-ssh", 1, "left running, listening or changed", "", ""),
            row("kill-ssh", 1, "message", "named", "named"),
            row("kill-agent", 1, "left running, listening or changed", "", "process nginx"),
            row("kill-agent", 1, "message", "named", "not named", "no word of it"),
            *(row("percentiles", 1, f"{n}: {q}", 1000, 1000 + 5 * n, "valid") for n in (1, 3) for q in page.QUANTILES),
            row("trial", 1, "local", "", 2.0),
            row("trial", 1, "over ssh", "", 2.2),
            row("agents", 1, "program copied: start and end, s", "", 9.0),
            row("agents", 1, "program copied: requests", 100003, 100003),
            row("same", 1, "verdict", "", "equal"),
            row("same", 2, "verdict", "", same.DIFFERENCE),
        ]
        bars = {bar.what: bar for bar in page._bars(rows)}
        missed = {what for what, bar in bars.items() if bar.figure and not bar.is_met}
        expected = {"percentiles", "false", "static", "kills"}
        self.assertEqual({what.split()[0] for what in missed}, expected)
        text = page.render(rows, {"date": "2026-01-01"})
        for said in ("| SIGKILL of an agent | 1 | 1 | 1 |", "process nginx", "no word of it", "| equal | 1 |", "2.20 s"):
            self.assertIn(said, text)

    def test_the_page_of_no_rows_measures_nothing(self):
        self.assertTrue(all(bar.figure is None for bar in page._bars([])))


if __name__ == "__main__":
    unittest.main()
