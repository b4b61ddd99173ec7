"""The pictures in the repository are those that the script draws, and no link of a document is dead."""

from __future__ import annotations

import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

from pages import links, pictures

ROOT = Path(__file__).resolve().parents[3]


class Pictures(unittest.TestCase):
    """docs/pictures."""

    def test_the_files_are_those_that_the_script_draws(self) -> None:
        for name, draw in pictures.PICTURES.items():
            self.assertEqual((pictures.FOLDER / f"{name}.svg").read_text(), draw().svg(), f"{name}.svg is old: run  make docs")

    def test_each_helps_a_reader_of_a_page(self) -> None:
        pages = "".join(page.read_text() for page in links.documents(ROOT))
        for picture in sorted(pictures.FOLDER.iterdir()):
            self.assertIn(f"pictures/{picture.name})", pages, f"{picture.name} is on no page")

    def test_each_has_a_title_and_a_description(self) -> None:
        for name, draw in pictures.PICTURES.items():
            root = xml.etree.ElementTree.fromstring(draw().svg())
            texts = [child.text for child in root if child.tag.endswith(("title", "desc"))]
            self.assertTrue(len(texts) == 2 and all(texts), name)


class Links(unittest.TestCase):
    """Links of Markdown."""

    def test_no_link_of_a_document_is_dead(self) -> None:
        self.assertEqual(links.dead(ROOT), [])

    def test_a_dead_link_and_a_missing_heading_are_found(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            (root / "docs").mkdir()
            (root / "README.md").write_text("# One `thing`, twice\n[a](docs/A.md#here) [b](docs/B.md) [c](#one-thing-twice)\n```\n[no](link)\n```\n")
            (root / "docs/A.md").write_text("# There\n")
            self.assertEqual(links.dead(root), ["README.md: docs/A.md#here: no such heading", "README.md: docs/B.md"])

    def test_the_map_for_language_models_leads_to_pages(self) -> None:
        text = (ROOT / "llms.txt").read_text()
        targets = list(links.links(text))
        self.assertTrue(text.startswith("# Showdown\n\n> ") and len(targets) > 10)
        self.assertEqual([target for target in targets if not (ROOT / target.partition("#")[0]).exists()], [])


if __name__ == "__main__":
    unittest.main()
