"""Tests of the page and of the commands."""

import json
import tempfile
import unittest
from pathlib import Path

from workloads import answer, page
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


class Commands(unittest.TestCase):
    """Commands as a user types them."""

    def test_the_default_preset_needs_no_option(self):
        self.assertEqual(LINES[0].argv("default", None), ["showdown", "compare", "nginx", "apache"])
        self.assertEqual(LINES[0].argv("quick", 20)[-3:], ["--quick", "--blocks", "20"])

    def test_every_command_has_its_own_file(self):
        self.assertEqual(len({line.name for line in LINES}), len(LINES))


if __name__ == "__main__":
    unittest.main()
