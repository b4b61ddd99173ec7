"""Tests of the stand-in of a PDU and of the page."""

from __future__ import annotations

import unittest

from cost import page, pdu


class PduTest(unittest.TestCase):
    def test_watts_follow_the_share_of_busy_cpus(self) -> None:
        self.assertEqual([pdu.watts(share) for share in (0.0, 0.5, 1.0, 2.0, -1.0)], [60, 105, 150, 150, 60])

    def test_waiting_for_a_disk_is_idle_and_guests_count_once(self) -> None:
        before = [0] * 10
        # user nice system idle iowait irq softirq steal guest guest_nice
        after = [30, 0, 10, 40, 10, 0, 10, 0, 30, 0]
        self.assertAlmostEqual(pdu.busy_share(before, after), 0.5)
        self.assertEqual(pdu.busy_share(before, before), 0.0)

    def test_it_answers_for_its_outlet_and_nothing_else(self) -> None:
        reading = pdu.Reading()
        self.assertEqual(pdu.answer(reading, "get", pdu.OID).splitlines()[:2], [pdu.OID, "integer"])
        self.assertEqual(pdu.answer(reading, "get", pdu.OID + ".1"), "NONE")
        self.assertEqual(pdu.answer(reading, "getnext", pdu.OID), "NONE")


class PageTest(unittest.TestCase):
    def test_the_section_has_sentences_figures_and_that_the_watts_are_made_up(self) -> None:
        figure = {"value": 1234.5, "low": 1200.0, "high": 1300.0}
        power = {"watts": 104.0, "boundary": "wall", "is_estimate": False}
        variant = {
            "variant": "nginx", "unit": "/s", "performance": figure, "power_at_load": power, "power_idle": None,
            "operations_per_joule": {"value": 11.87, "low": None, "high": None}, "swap": None, "total_cost": 4000.0,
            "cost_of_a_million": None, "carbon_g_of_a_million": None,
        }  # fmt: skip
        level = {"share": 1.0, "work_per_s": 1234.5, "watts": figure, "operations_per_joule": figure}
        idle = {**level, "share": 0, "work_per_s": 0.0}
        answer = {
            "sentence": "nginx carries more", "variants": [{"valid": 5, "invalid": 1}],
            "power": {"variants": [{"variant": "nginx", "levels": [level, idle]}], "comparisons": [], "lost": ["rack: gone"], "notes": ["N"]},
            "cost": {"variants": [variant], "comparisons": [], "over_load": [{"sentence": "cheaper from 10/s on"}], "notes": ["N"]},
        }  # fmt: skip
        text = page.section(answer, {"load average": "0.1", "commands": ["showdown compare"]})
        for part in (
            "its watts are\nmade up", "5 of 6 trials are valid", "- cheaper from 10/s on.", "- No watts: rack: gone.", "1,234 /s (1,200–1,300)",
            "104 wall", "11.9 (no interval)", "| nginx | 100% |", "| nginx | idle |",
        ):  # fmt: skip
            self.assertIn(part, text)
        self.assertEqual(text.count("- N."), 1)


if __name__ == "__main__":
    unittest.main()
