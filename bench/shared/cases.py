"""The command line of benches of cases: those without a row are run, and the page is made of all rows. The cases are left to them."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
from pathlib import Path

from .store import Store
from .whole_run import REPOSITORY, RESULTS


def parse(parser: argparse.ArgumentParser, why_root: str) -> argparse.Namespace:
    """The bench's own options and those of every bench of cases. `why_root` says why it needs root."""
    parser.add_argument("--showdown", type=Path, help="the binary")
    parser.add_argument("--fresh", action="store_true", help="run all cases again")
    parser.add_argument("--work", type=Path, default=REPOSITORY / "target" / parser.prog, help="directory of the cases")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where to write the page [docs/results]")
    parser.add_argument("--report-only", action="store_true", help="write the page again from its rows")
    options = parser.parse_args()
    # Programs that are started in a directory of theirs get paths below it.
    options.work = options.work.resolve()
    if not options.report_only and options.showdown is None:
        parser.error("--showdown is required to run cases")
    if not options.report_only and os.geteuid() != 0:
        parser.error(f"run it as root: {why_root}")
    return options


def command(parser_name: str, given: list[str]) -> str:
    """The make command that repeats a bench: with the options of the user, without the binary that the Makefile gives."""
    if "--showdown" in given:
        at = given.index("--showdown")
        given = given[:at] + given[at + 2 :]
    options = f"{parser_name.removeprefix('bench-').upper()}_OPTIONS"
    return f"make {parser_name} {options}={shlex.quote(shlex.join(given))}".removesuffix(f" {options}=''")


def store(options: argparse.Namespace, columns: list[str], key: tuple[str, ...]) -> Store:
    """The rows of the cases: those of earlier runs unless fresh ones are wanted."""
    if options.fresh:
        shutil.rmtree(options.work, ignore_errors=True)
    return Store(options.work, {"cases": columns}, key)
