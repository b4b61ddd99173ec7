"""Tests of the page and of the commands."""

import json
import tempfile
import unittest
from pathlib import Path

from workloads import answer, page, rounds
from workloads.lines import LINES


def _answer(sentence: str, valid: int, invalid: int) -> dict:
    return {"sentence": sentence, "variants": [{"valid": valid, "invalid": invalid}, {"valid": valid, "invalid": 0}]}


class Page(unittest.TestCase):
    """The table has a row for each command with a verdict."""

    def test_a_verdict_is_a_row_with_its_command_and_its_valid_trials(self):
        asked = {"command": "showdown compare a b --quick", "seconds": 75.4, "date": "2026-11-21",
                 "CPU": "a CPU", "CPUs": "2", "kernel": "Linux"}  # fmt: skip
        with tempfile.TemporaryDirectory() as directory:
            answers = Path(directory)
            one = {"asked": asked, "answer": _answer("a carries 2 × b's load", 5, 1)}
            answer.path(answers, LINES[0]).write_text(json.dumps(one))
            text = page.write(answers, answers / "page.md").read_text()
        self.assertIn("| `showdown compare a b --quick` | a carries 2 × b's load | 10 of 11 | 1 m 15 s | 2026-11-21 |", text)
        self.assertIn(f"1 of {len(LINES)} commands", text)

    def test_a_quick_run_that_searched_for_a_capacity_is_marked(self):
        asked = {"command": "showdown compare a b --quick", "seconds": 75.4, "date": "2026-11-28", "CPU": "a CPU", "CPUs": "2", "kernel": "Linux"}
        rows = {"capacity at p99 < 5 ms": True, "throughput in a closed loop": False}
        for metric, is_marked in rows.items():
            one = {"asked": asked, "answer": _answer("a carries 2 × b's load", 5, 1) | {"metric": metric}}
            with tempfile.TemporaryDirectory() as directory:
                answer.path(Path(directory), LINES[0]).write_text(json.dumps(one))
                text = page.write(Path(directory), Path(directory) / "page.md").read_text()
            self.assertEqual("searched for a capacity" in text, is_marked, metric)


class Rounds(unittest.TestCase):
    """Runs of the same commands are counted by how they ended."""

    def test_a_run_without_a_verdict_and_its_gates_are_counted(self):
        asked = {"command": "showdown compare a b --quick", "seconds": 75.4, "date": "2026-11-21", "engine": rounds.PRESENT, "CPU": "a CPU", "CPUs": "2", "kernel": "Linux"}
        pair = {"verdict": {"outcome": "difference"}}
        verdict = _answer("a carries 2 × b's load", 5, 1) | {"complete": True, "comparisons": [pair]}
        unclear = verdict | {"comparisons": [pair, {"verdict": {"outcome": "inconclusive"}}]}
        with tempfile.TemporaryDirectory() as directory:
            answers = Path(directory)
            gates = [{"id": "steal", "outcome": "failed"}, {"id": "client", "outcome": "passed"}]
            for number, status in enumerate(["invalid", "valid"]):
                trial = answers / f"run/trials/{number}"
                trial.mkdir(parents=True)
                (trial / "trial.json").write_text(json.dumps({"status": status, "gates": gates}))
            kept = rounds.store(answers)
            kept.add(rounds.ROUNDS, rounds.unanswered(LINES[0].name, 0, "showdown compare", asked | {"engine": "commit of before"}, "no answer"))
            for number, one in enumerate([verdict, unclear], start=1):
                kept.add(rounds.ROUNDS, rounds.row(LINES[0].name, number, asked, one, answers / "run"))
            kept.add(rounds.ROUNDS, rounds.unanswered(LINES[1].name, 1, "showdown sweep", asked, "no such server"))
            text = page.write(answers, answers / "page.md").read_text()
        self.assertIn("**1 of 3 runs (33%) ended in a verdict**", text)
        self.assertIn("Of the 1 run before, by other methods, 0 did.", text)
        self.assertIn(f"| {LINES[0].name} | 1 of 2 | 75 s | steal 2 |", text)
        self.assertIn("Of 22 trials: steal 2.", text)

    def test_a_sweep_has_a_verdict_if_its_curves_are_complete(self):
        variants, curves = [{"name": "disk"}], [{"variant": "disk"}]
        sweep = {"complete": True, "variants": variants, "curves": curves, "comparisons": [], "sentence": "disk: most at buffer 4096"}
        self.assertEqual(rounds.ended(sweep), rounds.VERDICT)
        self.assertEqual(rounds.ended(sweep | {"variants": [{"name": "disk"}, {"name": "other"}]}), rounds.INCONCLUSIVE, "no curve of the other")
        self.assertEqual(rounds.ended(sweep | {"complete": False}), rounds.INCONCLUSIVE)


class Commands(unittest.TestCase):
    """Commands as a user types them."""

    def test_the_default_preset_needs_no_option(self):
        self.assertEqual(LINES[0].argv("default", None), ["showdown", "compare", "nginx", "apache"])
        self.assertEqual(LINES[0].argv("quick", 20)[-3:], ["--quick", "--blocks", "20"])

    def test_every_command_has_its_own_file(self):
        self.assertEqual(len({line.name for line in LINES}), len(LINES))


if __name__ == "__main__":
    unittest.main()
