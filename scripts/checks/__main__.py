"""The command line: `PYTHONPATH=scripts python3 -m checks --help`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from . import parts
from .checks import Checks


def main() -> int:
    """Runs the parts that are named, or all; returns 1 if one fails."""
    parser = argparse.ArgumentParser(prog="checks", description="Run every check of the continuous integration, or those that are named.")
    parser.add_argument("parts", nargs="*", metavar="PART", help="such as build-tests test-rust; all by default")
    parser.add_argument("--target", type=Path, required=True, help="the target directory of cargo")
    parser.add_argument("--at-once", type=int, default=2 * (os.cpu_count() or 1), help="tests that run at the same time [2 for each CPU]")
    parser.add_argument("--only", default="", metavar="TEXT", help="tests with this text in their names")
    options = parser.parse_args()
    checks = Checks(options.target.resolve(), options.at_once, options.only)
    known = checks.all()
    if unknown := set(options.parts).difference(part.name for part in known):
        parser.error(f"there is no part {min(unknown)} (known: {', '.join(part.name for part in known)})")
    wanted = [part for part in known if not options.parts or part.name in options.parts]
    # A cancelled job of the continuous integration is a Ctrl-C, too: what runs has sessions of its own, and would go on.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return checks.end(parts.run(parts.among(wanted), checks.pool.stop))
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())
