"""The messages that docs/TROUBLESHOOTING.md quotes are those of the program. Its gates and limits are compared by the tests of bakeoff's gates."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SECTIONS = ("No verdict", "Other reasons of a trial", "Notes", "Commands that are refused", "Commands that cannot run now")
LEAST_SHARE = 0.35
"""A quoted message has examples of names and numbers; this share of it, in one piece, must be in the sources."""


def sources() -> str:
    """The sources as one text, with the lines of each string joined."""
    texts = (re.sub(r"\\\n\s*", "", path.read_text()) for path in sorted(ROOT.glob("crates/*/src/**/*.rs")))
    return plain(" ".join(texts).replace('\\"', '"'))


def plain(text: str) -> str:
    return " ".join(text.lower().split())


def quoted(page: str, section: str) -> list[str]:
    """The first cells of the section's first table, below its head."""
    _, _, after = page.partition(f"\n## {section}\n")
    rows = [line for line in after.partition("\n## ")[0].partition("|")[2].split("\n\n")[0].splitlines() if line.startswith("|")]
    return [plain(row.split(" | ")[0].strip("| ")) for row in rows[1:]]


def longest_known(message: str, known: str) -> str:
    """The longest run of the message's words that is in the known text."""
    words = message.split()
    runs = (" ".join(words[start:end]) for start in range(len(words)) for end in range(start + 1, len(words) + 1))
    return max((run for run in runs if run in known), key=len, default="")


class TroubleshootingTest(unittest.TestCase):
    def test_each_quoted_message_is_one_of_the_program(self) -> None:
        page, known = (ROOT / "docs/TROUBLESHOOTING.md").read_text(), sources()
        for section in SECTIONS:
            messages = quoted(page, section)
            self.assertGreater(len(messages), 3, section)
            for message in messages:
                found = longest_known(message, known)
                self.assertGreaterEqual(len(found) / len(message), LEAST_SHARE,
                                        f"{section}: {message!r}: only {found!r} is in crates/*/src: write the row as the program says it now")


if __name__ == "__main__":
    unittest.main()
