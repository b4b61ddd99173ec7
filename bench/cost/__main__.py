"""The command line: `python3 -m cost --help`."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from pathlib import Path

from shared import machine, processes
from shared.showdown import NoAnswer, ask, json_object
from shared.whole_run import REPOSITORY, RESULTS, progress

from . import page
from .pdu import pdu

TARGETS = Path(__file__).with_name("targets.toml")


def main() -> int:
    """Writes the published evaluations, measures one comparison, and writes its section."""
    options = _options()
    raw = options.results / "cost" / "comparison.json"
    whole = options.results / "cost.md"
    showdown = options.showdown.resolve()
    try:
        if not options.report_only:
            raw.parent.mkdir(parents=True, exist_ok=True)
            raw.write_text(json.dumps(_measure(options, showdown), indent=1) + "\n")
        ask(showdown, ["published", "--format", "md", "-o", str(whole.resolve())])
    except (NoAnswer, OSError) as error:
        print(f"bench-cost: {error}", file=sys.stderr)
        return 1
    measured = json.loads(raw.read_text())
    text = whole.read_text().rstrip() + "\n\n" + page.section(measured["answer"], measured["settings"])
    whole.write_text(text)
    print(whole)
    return 0


def _measure(options: argparse.Namespace, showdown: Path) -> dict[str, object]:
    options.work.mkdir(parents=True, exist_ok=True)
    settings = machine.facts(REPOSITORY, showdown)
    load = ", ".join(f"{one:.2f}" for one in os.getloadavg())
    command = ["compare", "nginx", "apache", *shlex.split(options.compare), "--cost", "targets.toml", "--load-levels"]
    with pdu(options.work, processes.free_port()) as address:
        (options.work / "targets.toml").write_text(TARGETS.read_text().replace("ADDRESS", address))
        progress(shlex.join(["showdown", *command]))
        answer = json_object(ask(showdown, [*command, "--format", "json"], options.work))
    commands = [shlex.join(["showdown", *command])]
    return {"settings": {**settings, "load average": load, "commands": commands}, "answer": answer}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-cost", description="Computes published evaluations, and prices a comparison.")
    parser.add_argument("--showdown", type=Path, required=True, help="the binary")
    parser.add_argument("--compare", default="--quick", help="options of the comparison [%(default)s]")
    parser.add_argument("--work", type=Path, default=REPOSITORY / "target/bench-cost", help="directory of the run")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where to write the page [docs/results]")
    parser.add_argument("--report-only", action="store_true", help="write the page again from its raw figures")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
