"""What an installation leaves behind is told from what README lists, without a root."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from dist import roots

README = Path(__file__).resolve().parents[3] / "README.md"


class LeftTest(unittest.TestCase):
    def test_files_that_are_left_are_found_but_not_those_of_the_kernel(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            for path in ("usr/bin/showdown", "home/tester/runs/1/plan.toml", "proc/1/stat", "dev/null"):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).touch()
            found = {path for path in roots.files(root) if (root / path).is_file()}
            self.assertEqual(found, {"usr/bin/showdown", "home/tester/runs/1/plan.toml"})

    def test_only_what_readme_lists_may_be_left(self) -> None:
        listed = ("home/tester/runs/1/plan.toml", "home/tester/.cache", "home/tester/.cache/showdown/data", "run/lock/showdown.lock")
        for path in listed:
            self.assertTrue(roots.is_listed(path), path)
        for path in ("usr/bin/showdown", "home/tester/.cache/other", "tmp/showdown-1234", "etc/showdown"):
            self.assertFalse(roots.is_listed(path), path)
        text = README.read_text()
        for path in roots.LEFT:
            name = path.removeprefix("home/tester/")
            self.assertIn(f"~/{name}" if name.startswith(".") else f"{name}" if name == "runs" else f"/{name}", text)


if __name__ == "__main__":
    unittest.main()
