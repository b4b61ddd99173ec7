"""The command line: `python3 -m workloads --help`."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections import Counter
from pathlib import Path

from shared import machine
from shared.showdown import NoAnswer
from shared.whole_run import REPOSITORY, progress

from . import answer, page, rounds
from .lines import LINES

AT_ONCE_S = 2
"""A command that fails sooner has not measured: the others would fail like it, such as beside another showdown."""


def main() -> int:
    """Runs every command that has too few rounds, and writes the page of all."""
    options = _options()
    answers = options.results / "workloads"
    lines = [] if options.report_only else [line for line in LINES if line.name in options.only]
    facts = machine.facts(REPOSITORY, options.showdown) if lines else {}
    kept = rounds.store(answers)
    before = Counter(one["name"] for one in kept.rows(rounds.ROUNDS))
    wanted = {line: options.rounds + (before[line.name] if options.fresh else 0) for line in lines}
    # Runs of one command are far apart in time, as those of a user are.
    numbers = range(1, max(wanted.values(), default=0) + 1)
    due = [(number, line) for number in numbers for line in lines if before[line.name] < number <= wanted[line]]
    failed = 0
    try:
        for at, (number, line) in enumerate(due, start=1):
            progress(f"{at}/{len(due)}: {line.arguments}, round {number}")
            command = line.argv(options.preset, options.blocks)
            began = time.monotonic()
            try:
                row = answer.ask(line, number, command, options.showdown.resolve(), options.work, facts, answers)
                progress(f"  {row['ended']}: {row['sentence']}")
            except NoAnswer as error:
                progress(f"  {error}")
                failed += 1
                if time.monotonic() - began < AT_ONCE_S:
                    break
                row = rounds.unanswered(line.name, number, shlex.join(command), facts, str(error).splitlines()[0])
            kept.add(rounds.ROUNDS, row)
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
    parser.add_argument("--rounds", type=int, default=1, help="runs of each command [%(default)s]")
    parser.add_argument("--fresh", action="store_true", help="this many rounds more, whatever was run before")
    parser.add_argument("--work", type=Path, default=REPOSITORY / "target/bench-workloads", help="directory of the runs")
    parser.add_argument("--results", type=Path, default=REPOSITORY / "docs/results", help="where to write the page [docs/results]")
    parser.add_argument("--report-only", action="store_true", help="write the page again from the verdicts")
    options = parser.parse_args()
    if not options.report_only and options.showdown is None:
        parser.error("--showdown is required to run commands")
    return options


if __name__ == "__main__":
    sys.exit(main())
