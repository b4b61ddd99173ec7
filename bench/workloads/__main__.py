"""The command line: `python3 -m workloads --help`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from shared import machine
from shared.showdown import NoAnswer
from shared.whole_run import REPOSITORY, progress

from . import answer, page
from .lines import LINES


def main() -> int:
    """Runs every command that has no verdict yet, and writes the page of all."""
    options = _options()
    answers = options.results / "workloads"
    due = [] if options.report_only else [line for line in LINES if line.name in options.only]
    facts = machine.facts(REPOSITORY, options.showdown) if due else {}
    if not options.fresh:
        due = [line for line in due if not answer.path(answers, line).exists()]
    failed = 0
    try:
        for number, line in enumerate(due, start=1):
            progress(f"{number}/{len(due)}: {line.arguments}")
            try:
                command = line.argv(options.preset, options.blocks)
                answer.ask(line, command, options.showdown.resolve(), options.work, facts, answers)
            except NoAnswer as error:
                progress(f"  {error}")
                failed += 1
    except KeyboardInterrupt:
        progress("stopped: run the same command to continue")
    print(page.write(answers, options.results / "workloads.md"))
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-workloads", description="Runs every workload of README's table for real.")
    names = [line.name for line in LINES]
    parser.add_argument("--showdown", type=Path, help="the binary")
    parser.add_argument("--preset", choices=["quick", "default", "thorough"], default="quick", help="of all commands [%(default)s]")
    parser.add_argument("--blocks", type=int, help="another number of blocks, such as 20")
    parser.add_argument("--only", choices=names, nargs="+", default=names, help="commands to run [all]")
    parser.add_argument("--fresh", action="store_true", help="also run commands that have a verdict")
    parser.add_argument("--work", type=Path, default=REPOSITORY / "target/bench-workloads", help="directory of the runs")
    parser.add_argument("--results", type=Path, default=REPOSITORY / "docs/results", help="where to write the page [docs/results]")
    parser.add_argument("--report-only", action="store_true", help="write the page again from the verdicts")
    options = parser.parse_args()
    if not options.report_only and options.showdown is None:
        parser.error("--showdown is required to run commands")
    return options


if __name__ == "__main__":
    sys.exit(main())
