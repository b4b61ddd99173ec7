"""What an installation leaves behind is told from what README lists, without a root."""

from __future__ import annotations

import subprocess
import tempfile
import unittest
from pathlib import Path

from dist import roots, tarball

from . import test_packages

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

    def test_only_runs_may_be_left(self) -> None:
        for path in ("home/tester/runs", "home/tester/runs/1/plan.toml", "home/tester"):
            self.assertTrue(roots.is_listed(path), path)
        for path in ("usr/bin/showdown", "home/tester/.cache/showdown", "run/lock/showdown.lock", "tmp/showdown-1234"):
            self.assertFalse(roots.is_listed(path), path)

    def test_folders_that_programs_share_may_stay_if_they_have_no_file(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            for path in ("home/tester/.local/bin", "home/tester/.local/share/doc/showdown", "home/tester/.cache/pip", "home/tester/runs/1"):
                (root / path).mkdir(parents=True)
            for path in ("home/tester/.local/share/man/man1/showdown.1", "home/tester/.cache/pip/selfcheck.json"):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).touch()
            named = ["share", "share/doc", "share/doc/showdown", "share/man", "share/man/man1", "share/man/man1/showdown.1"]
            found = [path for path in roots.left(root, {"home", "home/tester"}) if path != "left: home/tester/.local"]
            self.assertLessEqual(set(found), {f"left: home/tester/.local/{name}" for name in named})
            self.assertIn("left: home/tester/.local/share/doc/showdown", found)
            self.assertIn("left: home/tester/.local/share/man/man1/showdown.1", found)

    def test_the_commands_are_those_of_readme(self) -> None:
        text = README.read_text()
        for kind, file in (("tar", "showdown-0.1.0-linux-x86_64.tar.gz"), ("wheel", "showdown-0.1.0-*.whl")):
            for command in (roots.KINDS[kind].install, roots.KINDS[kind].remove):
                self.assertIn(command.format(file=file), text)
        self.assertIn(roots.KINDS["tar"].path, text)

    def test_a_tar_of_a_stand_in_is_removed_without_a_trace(self) -> None:
        kind = roots.KINDS["tar"]
        with tempfile.TemporaryDirectory() as directory:
            folder = Path(directory)
            package = tarball.make(test_packages.release(folder / "release"), folder)
            home = folder / "home/tester"
            home.mkdir(parents=True)
            before = roots.files(folder)
            for command in (kind.install, kind.remove):
                subprocess.run(["sh", "-c", command.format(file=package)], check=True, env={"HOME": str(home), "PATH": "/usr/bin:/bin"})
            self.assertEqual(roots.left(folder, before), [])


if __name__ == "__main__":
    unittest.main()
