"""The command line: `python3 -m archive --help`."""

from __future__ import annotations

import argparse
import csv
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from shared import machine
from shared.figures import Bar, Figure
from shared.markdown import bars_table, command, verdict

from . import runs

REPOSITORY = Path(__file__).resolve().parents[2]
RUNS = 10_000
MOST_REPORT_BYTES = 2_000_000


def main() -> int:
    """Times every command in every round, in random order, and writes the page."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="showdown-archive-") as work:
        directory = Path(work)
        made_up = subprocess.run([options.made_up, directory / "one"], capture_output=True, text=True, check=True)
        template = Path(made_up.stdout.splitlines()[0])
        many = directory / "many"
        runs.fill(many, template, RUNS)
        bars = _bars(str(options.showdown.resolve()), many, template)
        times = _times([argv for _, _, argv in bars], options)
        report = template / "report.html"
        judged = [
            Bar(what, limit_ms, False, Figure.of(times[number]), 1)
            for number, (what, limit_ms, _) in enumerate(bars)
        ]
        judged.append(Bar("that report, bytes", MOST_REPORT_BYTES, False, Figure.of([report.stat().st_size])))
        commands = "\n".join(command(["showdown", *argv[1:]], directory) for _, _, argv in bars)
    facts = machine.facts(REPOSITORY, options.showdown) | {"packages": "none"}
    print(_write(judged, commands, times, facts, options))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-archive", description="What reads the archive, timed.")
    parser.add_argument("--showdown", type=Path, required=True, help="the binary")
    parser.add_argument("--made-up", type=Path, required=True, help="the binary that writes a made-up run")
    parser.add_argument("--rounds", type=int, default=21, help="of each command [%(default)s]")
    parser.add_argument("--results", type=Path, default=REPOSITORY / "docs/results", help="[docs/results]")
    return parser.parse_args()


def _bars(showdown: str, many: Path, template: Path) -> list[tuple[str, int, list[str]]]:
    """What is timed, its limit in milliseconds, and the command."""
    here = ["--runs", str(many)]
    one = ["--runs", str(template.parent)]
    filters = ["1.6", "--tag", "made-up", "--variant", "apache"]
    return [
        ("the index made anew, ms", 30_000, [showdown, "archive", "reindex", *here]),
        ("the newest 50 listed, ms", 100, [showdown, "list", *here]),
        ("all listed, ms", 100, [showdown, "list", "--limit", str(RUNS), *here]),
        ("listed by three filters at once, ms", 100, [showdown, "list", *filters, *here]),
        ("the help, ms", 30, [showdown, "--help"]),
        ("the report of a run of 20 trials, ms", 1_000, [showdown, "report", template.name, *one]),
    ]


def _times(commands: list[list[str]], options: argparse.Namespace) -> dict[int, list[float]]:
    """Milliseconds of each command, by its place; what comes before the first round does not count."""
    times: dict[int, list[float]] = {number: [] for number in range(len(commands))}
    for round_number in range(options.rounds + 1):
        for number in random.Random(round_number).sample(range(len(commands)), len(commands)):
            began = time.perf_counter()
            subprocess.run(commands[number], stdout=subprocess.DEVNULL, check=True)
            if round_number > 0:
                times[number].append((time.perf_counter() - began) * 1e3)
    return times


def _write(
    bars: list[Bar], commands: str, times: dict[int, list[float]], facts: dict[str, str], options: argparse.Namespace
) -> Path:
    page = options.results / "archive.md"
    raw = options.results / "archive/times.csv"
    raw.parent.mkdir(parents=True, exist_ok=True)
    with raw.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["what", "round", "ms"])
        for number, column in times.items():
            writer.writerows([bars[number].what, turn, f"{ms:.2f}"] for turn, ms in enumerate(column, start=1))
    lines = "\n".join(f"| {name} | {value} |" for name, value in facts.items())
    page.write_text(f"""# What reads the archive

{verdict(bars)} Measured by `make bench-archive` on {facts["date"]}, in an archive of {RUNS:,} runs: {options.rounds} rounds,
in each every command once in random order, from its start to its end; medians, with the least and the most in brackets.
The raw figures are in `archive/`.

{bars_table(bars)}

|  |  |
| --- | --- |
{lines}

```sh
{commands}
```
""")
    return page


if __name__ == "__main__":
    sys.exit(main())
