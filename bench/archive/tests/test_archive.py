"""The archive that is read."""

import re
import tempfile
import unittest
from pathlib import Path

from archive import runs


class Many(unittest.TestCase):
    """Copies of one run."""

    def test_each_has_a_name_of_its_own_and_what_the_index_reads(self):
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
