"""From what showdown answers to the page."""

import json
import tempfile
import unittest
from pathlib import Path

from workloads import answer, page
from workloads.lines import LINES


def _said(sentence: str, valid: int, invalid: int) -> dict:
    return {"sentence": sentence, "variants": [{"valid": valid, "invalid": invalid}, {"valid": valid, "invalid": 0}]}


class Page(unittest.TestCase):
    """A line of the table for each answer, and none for the others."""

    def test_an_answer_is_a_row_with_its_command_and_the_trials_that_count(self):
        asked = {"command": "showdown compare a b --quick", "seconds": 75.4, "date": "2026-11-21",
                 "CPU": "a CPU", "CPUs": "2", "kernel": "Linux"}  # fmt: skip
        with tempfile.TemporaryDirectory() as directory:
            answers = Path(directory)
            one = {"asked": asked, "answer": _said("a carries 2 × b's load", 5, 1)}
            answer.path(answers, LINES[0]).write_text(json.dumps(one))
            text = page.write(answers, answers / "page.md").read_text()
        self.assertIn("| `showdown compare a b --quick` | a carries 2 × b's load | 10 of 11 | 1 m 15 s | 2026-11-21 |", text)
        self.assertIn(f"1 lines of {len(LINES)}", text)


class Commands(unittest.TestCase):
    """Lines as a user types them."""

    def test_the_default_length_needs_no_option(self):
        self.assertEqual(LINES[0].argv("default", None), ["showdown", "compare", "nginx", "apache"])
        self.assertEqual(LINES[0].argv("quick", 20)[-3:], ["--quick", "--blocks", "20"])

    def test_no_two_lines_share_a_file(self):
        self.assertEqual(len({line.name for line in LINES}), len(LINES))


if __name__ == "__main__":
    unittest.main()
