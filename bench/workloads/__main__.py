"""The command line: `python3 -m workloads --help`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from shared import machine
from peers.schedule import say
from shared.showdown import NoAnswer

from . import answer, page
from .lines import LINES

REPOSITORY = Path(__file__).resolve().parents[2]


def main() -> int:
    """Asks every line that has no answer yet and writes the page of all."""
    options = _options()
    answers = options.results / "workloads"
    facts = machine.facts(REPOSITORY, options.showdown)
    due = [line for line in LINES if line.name in options.only]
    if not options.fresh:
        due = [line for line in due if not answer.path(answers, line).exists()]
    failed = 0
    try:
        for number, line in enumerate(due, start=1):
            say(f"{number}/{len(due)}: {line.arguments}")
            try:
                command = line.argv(options.length, options.blocks)
                answer.ask(line, command, options.showdown.resolve(), options.work, facts, answers)
            except NoAnswer as error:
                say(f"  {error}")
                failed += 1
    except KeyboardInterrupt:
        say("stopped; the same command goes on")
    print(page.write(answers, options.results / "workloads.md"))
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-workloads", description="Every workload of README's table, for real.")
    names = [line.name for line in LINES]
    parser.add_argument("--showdown", type=Path, required=True, help="the binary")
    parser.add_argument("--length", choices=["quick", "default", "thorough"], default="quick", help="[%(default)s]")
    parser.add_argument("--blocks", type=int, help="another number of blocks, such as 20 where 6 were too few")
    parser.add_argument("--only", choices=names, nargs="+", default=names, help="lines [all]")
    parser.add_argument("--fresh", action="store_true", help="also those that have an answer")
    parser.add_argument("--work", type=Path, default=REPOSITORY / "target/bench-workloads", help="where runs are kept")
    parser.add_argument("--results", type=Path, default=REPOSITORY / "docs/results", help="[docs/results]")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
