"""The packages of a stand-in program have what they should, at the right places, and the same bytes each time."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path
from typing import Any

from dist import debian, tarball, wheel
from dist.dependencies import Dependencies
from dist.release import PROGRAMS, Release

ROOT = Path(__file__).resolve().parents[3]

STAND_IN = """#!/bin/sh
case $1 in
    completions) echo "completions of $2" ;;
    man) mkdir -p "$3" && echo manual > "$3/showdown.1" && echo compare > "$3/showdown-compare.1" ;;
    --version) echo "showdown 9.8.7" ;;
esac
"""

COMMIT_TIME = 1_700_000_000


def metadata(folder: Path) -> dict[str, Any]:
    """The output of `cargo metadata` for three programs. The first uses a library, a macro, and something for tests only."""

    def package(name: str, version: str, licence: str, kind: str = "lib") -> dict[str, Any]:
        (folder / name).mkdir(exist_ok=True)
        if name not in PROGRAMS.values():
            (folder / name / "LICENSE-MIT").write_text(f"Copyright {name}\n")
        return {"id": name, "name": name, "version": version, "license": licence, "manifest_path": str(folder / name / "Cargo.toml"),
                "targets": [{"kind": [kind]}]}

    def uses(name: str, kind: str | None = None) -> dict[str, Any]:
        return {"pkg": name, "dep_kinds": [{"kind": kind}]}

    return {
        "packages": [package("showdown", "9.8.7", "MIT"), package("olio", "9.8.7", "MIT"), package("harness", "9.8.7", "MIT"),
                     package("pages", "2.0.0", "MIT"), package("tls", "1.2.3", "MIT/Apache-2.0"),
                     package("derive", "1.0.0", "MIT", "proc-macro"), package("asserts", "1.0.0", "MIT")],
        "workspace_members": ["showdown", "harness", "olio"],
        "resolve": {"nodes": [{"id": "showdown", "deps": [uses("tls"), uses("derive"), uses("asserts", "dev")]}, {"id": "tls", "deps": []},
                              {"id": "olio", "deps": [uses("pages"), uses("tls")]}, {"id": "pages", "deps": []},
                              {"id": "harness", "deps": [uses("tls")]}]},
    }


def release(folder: Path) -> Release:
    folder.mkdir()
    programs = {}
    for name, text in (("showdown", STAND_IN), ("showdown-harness", "#!/bin/sh\necho harness\n"), ("olio", "#!/bin/sh\necho olio\n")):
        programs[name] = folder / name
        programs[name].write_text(text)
        programs[name].chmod(0o755)
    (folder / "crates").mkdir()
    dependencies = Dependencies.of(metadata(folder / "crates"), tuple(PROGRAMS.values()))
    return Release.of(ROOT, programs, programs["showdown"], folder, "x86_64", COMMIT_TIME, dependencies)


class PackagesTest(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        self.release = release(self.directory / "one")

    def test_a_release_has_the_programs_their_documents_and_the_crates_in_them(self) -> None:
        files = self.release.files
        self.assertEqual([path for path in files if path.startswith("bin/")], ["bin/olio", "bin/showdown", "bin/showdown-harness"])
        self.assertIn("share/bash-completion/completions/showdown", files)
        self.assertEqual(files["share/man/man1/showdown-compare.1"], b"compare\n")
        licences = files["share/doc/showdown/LICENSES-OF-DEPENDENCIES"].decode()
        self.assertIn("tls 1.2.3: MIT/Apache-2.0", licences)
        self.assertIn("Copyright tls", licences)
        self.assertNotIn("asserts", licences, "tests are no part of the program")
        sbom = json.loads(files["share/doc/showdown/sbom.cdx.json"])
        self.assertEqual((sbom["bomFormat"], sbom["metadata"]["component"]["version"]), ("CycloneDX", "9.8.7"))
        self.assertEqual([component.get("purl", component["name"]) for component in sbom["components"]],
                         ["harness", "olio", "pkg:cargo/pages@2.0.0", "pkg:cargo/tls@1.2.3"])
        self.assertEqual(sbom["components"][3]["licenses"], [{"expression": "MIT OR Apache-2.0"}])
        self.assertIn({"ref": "showdown@9.8.7", "dependsOn": ["tls@1.2.3"]}, sbom["dependencies"])
        self.assertIn({"ref": "olio@9.8.7", "dependsOn": ["pages@2.0.0", "tls@1.2.3"]}, sbom["dependencies"])

    def test_a_release_has_the_pages_that_the_program_names_and_their_links_work(self) -> None:
        pages = {path.removeprefix("share/doc/showdown/"): content for path, content in self.release.files.items() if path.endswith(".md")}
        sources = subprocess.run(["git", "grep", "-hoE", r"docs/[A-Z-]+\.md", "--", "crates"], cwd=ROOT, check=True, capture_output=True, text=True)
        self.assertLessEqual(set(sources.stdout.split()), set(pages))
        for page in ("README.md", "docs/START.md", "docs/recipes/ci.md"):
            for target in re.findall(r"\]\(([^)#:]+)", pages[page].decode()):
                linked = os.path.normpath(Path(page).parent / target)
                # What is for those who have the repository.
                if not linked.startswith(("https", "docs/results", "docs/decisions", "workloads", "LICENSE", "ARCHITECTURE", "CONTRIBUTING")):
                    self.assertTrue(any(path.startswith(f"share/doc/showdown/{linked}") for path in self.release.files), f"{page}: {target}")

    def test_a_tar_unpacks_into_a_prefix(self) -> None:
        package = tarball.make(self.release, self.directory)
        self.assertEqual(package.name, "showdown-9.8.7-linux-x86_64.tar.gz")
        with tarfile.open(package) as tar:
            members = {member.name: member for member in tar.getmembers()}
        program = members["showdown-9.8.7-linux-x86_64/bin/showdown"]
        self.assertEqual((program.mode, program.uid, program.mtime), (0o755, 0, COMMIT_TIME))
        self.assertEqual(members["showdown-9.8.7-linux-x86_64/share/man/man1/showdown.1"].mode, 0o644)

    @unittest.skipUnless(shutil.which("dpkg-deb"), "there is no dpkg-deb")
    def test_a_deb_needs_nothing_and_runs_no_script(self) -> None:
        package = debian.make(self.release, self.directory)
        self.assertEqual(package.name, "showdown_9.8.7_amd64.deb")
        listed = subprocess.run(["dpkg-deb", "--contents", package], check=True, capture_output=True, text=True).stdout
        self.assertRegex(listed, r"-rwxr-xr-x root/root .* \./usr/bin/showdown\n")
        self.assertRegex(listed, r"-rwxr-xr-x root/root .* \./usr/bin/olio\n")
        self.assertRegex(listed, r"-rwxr-xr-x root/root .* \./usr/bin/showdown-harness\n")
        self.assertRegex(listed, r"-rw-r--r-- root/root .* \./usr/share/man/man1/showdown\.1\.gz\n")
        self.assertIn("./usr/share/zsh/vendor-completions/_showdown", listed)
        unpacked = self.directory / "control"
        subprocess.run(["dpkg-deb", "--control", package, unpacked], check=True)
        self.assertEqual(sorted(path.name for path in unpacked.iterdir()), ["control", "md5sums"])
        self.assertNotIn("Depends:", (unpacked / "control").read_text())

    def test_a_wheel_carries_the_programs(self) -> None:
        package = wheel.make(self.release, self.directory)
        self.assertEqual(package.name, "showdown-9.8.7-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64.whl")
        with zipfile.ZipFile(package) as archive:
            names = archive.namelist()
            self.assertIn("showdown-9.8.7.data/scripts/showdown", names)
            self.assertIn("showdown-9.8.7.data/scripts/showdown-harness", names)
            self.assertIn("showdown-9.8.7.data/scripts/olio", names)
            self.assertIn("showdown-9.8.7.dist-info/LICENSE-MIT", names)
            self.assertIn("showdown-9.8.7.data/data/share/doc/showdown/docs/TROUBLESHOOTING.md", names)
            record = archive.read("showdown-9.8.7.dist-info/RECORD").decode()
        self.assertEqual([line.split(",")[0] for line in record.splitlines()], names)

    @unittest.skipUnless(subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode == 0, "there is no pip")
    def test_pip_installs_the_program_of_a_wheel(self) -> None:
        package = wheel.make(self.release, self.directory)
        prefix = self.directory / "prefix"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--ignore-installed", "--prefix", prefix, package]
        subprocess.run([*command, "--root-user-action=ignore"], check=True, env={"PATH": "/usr/bin:/bin", "PIP_BREAK_SYSTEM_PACKAGES": "1"})
        [program] = prefix.rglob("bin/showdown")
        answer = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
        self.assertEqual(answer, "showdown 9.8.7\n")

    def test_the_same_program_makes_the_same_bytes(self) -> None:
        again = release(self.directory / "elsewhere")
        makers = [tarball.make, wheel.make, *([debian.make] if shutil.which("dpkg-deb") else [])]
        for make in makers:
            digests = set()
            for number, one in enumerate((self.release, again)):
                out = self.directory / f"out-{number}"
                out.mkdir(exist_ok=True)
                digests.add(hashlib.sha256(make(one, out).read_bytes()).hexdigest())
            self.assertEqual(len(digests), 1, make.__module__)


if __name__ == "__main__":
    unittest.main()
