"""Builds the packages of one commit in two directories and compares them: `make dist-check`. What differs is named.

`--profile quick` compiles without optimization. It is not what people get, but paths, times and orders that would differ do so there, too.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Of different lengths, because a path's length is in a program, too, where the path is.
PLACES = ("a", "a-directory-with-another-name")
QUICK = {"CARGO_PROFILE_RELEASE_OPT_LEVEL": "0", "CARGO_PROFILE_RELEASE_LTO": "off", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
         "SHOWDOWN_MOST_BYTES": "200000000", "HARNESS_MOST_BYTES": "200000000", "OLIO_MOST_BYTES": "200000000"}


def main() -> int:
    """Builds twice; returns the exit code."""
    parser = argparse.ArgumentParser(prog="dist.twice", description="Check that two builds of the packages in two directories are equal.")
    parser.add_argument("--scratch", type=Path, required=True, help="a directory for both builds; it is emptied before, and after equal builds it has the packages in dist")
    parser.add_argument("--profile", choices=("release", "quick"), default="release")
    options = parser.parse_args()
    environment = {**os.environ, **(QUICK if options.profile == "quick" else {})}
    shutil.rmtree(options.scratch, ignore_errors=True)
    # What is committed meanwhile is in neither.
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    built = [build(options.scratch / place, commit, environment) for place in PLACES]
    differing = sorted(name for name in built[0].keys() | built[1].keys() if built[0].get(name) != built[1].get(name))
    for name in differing:
        print(f"dist-check: {name} differs: see {' and '.join(str(options.scratch / place / 'target/dist' / name) for place in PLACES)}", file=sys.stderr)
    if differing:
        return 1
    for name, digest in sorted(built[0].items()):
        print(f"{digest}  {name}")
    (options.scratch / PLACES[0] / "target/dist").rename(options.scratch / "dist")
    for place in PLACES:
        shutil.rmtree(options.scratch / place)
    return 0


def build(place: Path, commit: str, environment: dict[str, str]) -> dict[str, str]:
    """Clones the commit, makes the packages there, and returns the digest of each."""
    subprocess.run(["git", "clone", "--quiet", ROOT, place], check=True)
    subprocess.run(["git", "checkout", "--quiet", "--detach", commit], cwd=place, check=True)
    command = [sys.executable, "-m", "dist", "--target", place / "target"]
    inside = {**environment, "PYTHONPATH": str(place / "scripts"), "CARGO_TARGET_DIR": str(place / "target")}
    subprocess.run(command, cwd=place, env=inside, check=True, stdout=subprocess.DEVNULL)
    packages = (place / "target/dist").iterdir()
    return {package.name: hashlib.sha256(package.read_bytes()).hexdigest() for package in packages if package.suffix != ".sha256"}


if __name__ == "__main__":
    sys.exit(main())
