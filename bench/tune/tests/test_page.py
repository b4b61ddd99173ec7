"""Tests of the rows and the page."""

import tempfile
import tomllib
import unittest
from pathlib import Path

from shared.ledger import Ledger
from tune import gains, kills, page, rules, searches


def _record(kept: list[str], low: float, high: float) -> dict:
    tried = [{"tuning": name, "outcome": "kept"} for name in kept] + [{"tuning": "placebo-9", "outcome": "dropped"}]
    return {"sentence": "known does more", "tried": tried, "not_tried": [{}], "headline": {"ratio": 1.1, "low": low, "high": high}}


class Rules(unittest.TestCase):
    """The planted tunings are files that undo what the baseline sets."""

    def test_every_tuning_sets_a_knob_of_the_known_server(self):
        knobs = tomllib.loads(searches.WORKLOAD.read_text())["server"]["known"]["knobs"]
        with tempfile.TemporaryDirectory() as directory:
            files = sorted(rules.write(Path(directory)).glob("*.toml"))
            levels = [tomllib.loads(path.read_text())["level"][0]["set"] for path in files]
        self.assertEqual(len(files), 12)
        self.assertLessEqual({knob for level in levels for knob in level}, set(knobs))


class Page(unittest.TestCase):
    """Shares of the searches so far."""

    def test_placebos_gains_and_intervals_are_counted(self):
        with tempfile.TemporaryDirectory() as directory:
            ledgers = {name: Ledger(Path(directory) / f"{name}.csv", columns) for name, columns in page.COLUMNS.items()}
            both = list(rules.PLANTED)
            for record in [_record(both, 1.1, 1.2), _record(both, 1.2, 1.3), _record(["planted-a", "placebo-1"], 1.0, 1.2)]:
                ledgers["searches"].append(searches.row(searches.PLANTED, record, "", "abc", 600.0))
            ledgers["searches"].append(searches.row(searches.BEST, {"sentence": "nothing"}, "", "abc", 600.0))
            ledgers["searches"].append(searches.row(searches.SERVERS[0], {}, "no trial is valid", "abc", 60.0))
            killed = {"at": "2026-11-23", "setting_then": "changed", "setting_after": "as before", "processes_after": 0}
            ledgers["kills"].append(dict.fromkeys(kills.COLUMNS, "") | killed)
            text = page.write(ledgers)
        self.assertIn("| a placebo is kept in no search | 1 of 3, 33%", text)
        self.assertIn("| planted-b is kept in ≥ 90 % | 2 of 3, 67%", text)
        self.assertIn("true gain in ≥ 93 % | 1 of 2, 50%", text)
        self.assertIn("| no headline on a server at its best | 0 of 1, 0%", text)
        self.assertIn("| abc | – | 0 | 0 | – | 1 min | no trial is valid |", text)
        self.assertIn("After `showdown undo`: 0 changed settings, 0 running processes.", text)

    def test_a_gain_is_beside_what_was_published_and_a_tuning_that_was_not_tried_has_its_reason(self):
        record = {
            "tried": [{"tuning": "nginx-reuseport", "settings": {"reuseport": "on"}, "outcome": "dropped", "screened": 1.003, "blocks": 6, "why": "it gains nothing"}],
            "weaker": [{"tuning": "mariadb-flush-at-commit", "settings": {"flush_at_commit": "2"}, "outcome": "dropped", "screened": None, "blocks": 3, "why": "durability", "own": {"ratio": 1.3, "low": 1.2, "high": 1.4}}],
            "not_tried": [*2 * [{"tuning": "nginx-aio-threads", "why": "no disk reads"}], {"tuning": "nginx-sendfile", "why": "none published"}],
        }
        with tempfile.TemporaryDirectory() as directory:
            ledger = Ledger(Path(directory) / "gains.csv", gains.COLUMNS)
            for row in gains.of_record("nginx", {"tried": [{**record["tried"][0], "blocks": 3}]}, "2026-11-24", "abb"):
                ledger.append(row)
            for row in gains.of_record("nginx", record, "2026-11-25", "abc"):
                ledger.append(row)
            rows = ledger.rows()
        self.assertEqual(len(rows), 6)
        rows = gains.newest(rows)
        self.assertEqual(len(rows), 5)
        tried = {line[1]: line[3:] for line in gains.tried(rows)}
        self.assertEqual(tried["reuseport=on"], ["nginx", "1.003 × in 6 blocks", "no", "it gains nothing"])
        self.assertEqual(tried["flush_at_commit=2"], ["nginx", "1.300 × (1.200–1.400)", "yes", "durability"])
        self.assertEqual(gains.not_tried(rows), [["nginx-aio-threads", "nginx", "no disk reads"]])
        self.assertIn("up to 9 ×", next(line[1] for line in gains.sources() if line[0] == "nginx-aio-threads"))


if __name__ == "__main__":
    unittest.main()
