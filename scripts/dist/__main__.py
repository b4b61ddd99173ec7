"""The command line: `PYTHONPATH=scripts python3 -m dist --help`."""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from . import debian, tarball, wheel
from .dependencies import Dependencies
from .release import ARCHITECTURES, PROGRAMS, Release

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Builds the programs, makes the packages and prints their paths."""
    native = platform.machine()
    parser = argparse.ArgumentParser(prog="dist", description="Make a tar, a .deb and a Python wheel of the static programs.")
    parser.add_argument("--target", type=Path, required=True, help="the target directory of cargo; the packages go to its folder dist")
    parser.add_argument("--architecture", choices=ARCHITECTURES, action="append", default=[], dest="architectures",
                        help=f"an architecture beside that of this machine ({native})")
    options = parser.parse_args()
    target = options.target.resolve()
    out = target / "dist"
    out.mkdir(parents=True, exist_ok=True)
    # The time of the commit, as https://reproducible-builds.org/docs/source-date-epoch/ has it.
    commit_time = int(output(["git", "log", "-1", "--format=%ct"]))
    programs = {architecture: built(target, architecture) for architecture in dict.fromkeys([native, *options.architectures])}
    for architecture, files in programs.items():
        metadata = json.loads(output(["cargo", "metadata", "--format-version", "1", "--locked",
                                      "--filter-platform", f"{architecture}-unknown-linux-musl"]))
        with tempfile.TemporaryDirectory() as scratch:
            dependencies = Dependencies.of(metadata, tuple(PROGRAMS.values()))
            release = Release.of(ROOT, files, programs[native]["showdown"], Path(scratch), architecture, commit_time, dependencies)
            packages = [make(release, out) for make in (tarball.make, debian.make, wheel.make)]
        for package in packages:
            digest = hashlib.sha256(package.read_bytes()).hexdigest()
            package.with_name(package.name + ".sha256").write_text(f"{digest}  {package.name}\n")
            print(package)
    return 0


def built(target: Path, architecture: str) -> dict[str, Path]:
    """Builds the static programs; returns the path of each by its name."""
    paths = output(["scripts/build-release", str(target), architecture, *PROGRAMS]).split()
    return dict(zip(PROGRAMS, map(Path, paths), strict=True))


def output(command: list[str]) -> str:
    """What a command prints. Its errors are those of this program."""
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
