"""Tests of the archive of many runs."""

import re
import tempfile
import unittest
from pathlib import Path

from archive import runs


class Many(unittest.TestCase):
    """Copies of one run."""

    def test_each_run_has_a_unique_name_and_the_files_of_the_index(self):
        with tempfile.TemporaryDirectory() as directory:
            template, root = Path(directory) / "one", Path(directory) / "many"
            template.mkdir()
            for file in runs.COPIED:
                (template / file).write_text(file)
            runs.fill(root, template, 30)
            copies = sorted(root.iterdir())
            self.assertEqual(len(copies), 30)
            for copy in copies:
                self.assertRegex(copy.name, re.compile(r"^\d{8}T\d{6}Z-nginx-apache-7f3a$"))
                self.assertEqual({path.name for path in copy.iterdir()}, {"trials", *runs.COPIED})


if __name__ == "__main__":
    unittest.main()
