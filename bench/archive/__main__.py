"""The command line: `python3 -m archive --help`."""

from __future__ import annotations

import argparse
import random
import subprocess
import tempfile
import time
from pathlib import Path

from shared import machine, whole_run
from shared.figures import Bar, Figure, Rows
from shared.markdown import bars_table, command, facts_table, plural, shell, verdict
from shared.results import ResultsPage, Settings

from . import runs

RUNS = 10_000
COLUMNS = ["what", "round", "ms"]
LIMITS_MS = {
    "rebuild the index, ms": 30_000,
    "list the newest 50 runs, ms": 100,
    "list all runs, ms": 100,
    "list with three filters, ms": 100,
    "print the help, ms": 30,
    "make the report of a run of 20 trials, ms": 1_000,
}
MAX_REPORT_BYTES = 2_000_000


def main() -> int:
    """Times every command in every round and writes the page, or only writes the page."""
    options = _options()
    return whole_run.main(
        "bench-archive", options.report_only, None, lambda: PAGE.write(options.results), lambda: _measure(options)
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-archive", description="Commands that read the archive, timed.")
    parser.add_argument("--showdown", type=Path, help="the binary")
    parser.add_argument("--made-up", type=Path, help="the binary that writes a made-up run")
    parser.add_argument("--rounds", type=int, default=21, help="runs of each command [%(default)s]")
    parser.add_argument("--results", type=Path, default=whole_run.RESULTS, help="where to write the page [docs/results]")
    parser.add_argument("--report-only", action="store_true", help="write the page again from its raw figures")
    return whole_run.parsed(parser, "showdown", "made_up")


def _measure(options: argparse.Namespace) -> Path:
    with tempfile.TemporaryDirectory(prefix="showdown-archive-") as work:
        directory = Path(work)
        made_up = subprocess.run([options.made_up, directory / "one"], capture_output=True, text=True, check=True)
        template = Path(made_up.stdout.splitlines()[0])
        many = directory / "many"
        runs.fill(many, template, RUNS)
        commands = _commands(str(options.showdown.resolve()), many, template)
        rows = _times(commands, options.rounds)
        settings: Settings = {
            **machine.facts(whole_run.REPOSITORY, options.showdown),
            "packages": "none",
            "rounds": options.rounds,
            "runs": RUNS,
            "report_bytes": (template / "report.html").stat().st_size,
            "commands": [command(["showdown", *argv[1:]], directory) for argv in commands.values()],
        }
    return PAGE.save(rows, settings, options.results)


def _commands(showdown: str, many: Path, template: Path) -> dict[str, list[str]]:
    """The timed commands, by the names of their limits."""
    here, one = ["--runs", str(many)], ["--runs", str(template.parent)]
    filters = ["1.6", "--tag", "made-up", "--variant", "apache"]
    arguments = [
        ["archive", "reindex", *here],
        ["list", *here],
        ["list", "--limit", str(RUNS), *here],
        ["list", *filters, *here],
        ["--help"],
        ["report", template.name, *one],
    ]
    return {what: [showdown, *argv] for what, argv in zip(LIMITS_MS, arguments, strict=True)}


def _times(commands: dict[str, list[str]], rounds: int) -> Rows:
    """Milliseconds of each command. Round 0 warms the caches up and does not count."""
    rows: Rows = []
    for number in range(rounds + 1):
        for what in random.Random(number).sample(list(commands), len(commands)):
            began = time.perf_counter()
            subprocess.run(commands[what], stdout=subprocess.DEVNULL, check=True)
            if number > 0:
                rows.append({"what": what, "round": number, "ms": f"{(time.perf_counter() - began) * 1e3:.2f}"})
    return rows


def page(rows: Rows, settings: Settings) -> str:
    """The whole page."""
    bars = [
        Bar(what, limit, False, Figure.of([float(row["ms"]) for row in rows if row["what"] == what]), 1)
        for what, limit in LIMITS_MS.items()
    ]
    bars.append(Bar("size of that report, bytes", MAX_REPORT_BYTES, False, Figure.of([settings["report_bytes"]])))
    return f"""# Commands that read the archive

{verdict(bars)}

Measured by `make bench-archive` on {settings["date"]}, in an archive of {plural(settings["runs"], "run")}, in {plural(settings["rounds"], "round")}. Each round
runs every command once, in random order. A time is that of the whole command. Figures are medians; minimum and maximum are
in brackets. The raw figures are in `archive/`.

{bars_table(bars)}

{facts_table(settings, without=("commands", "rounds", "runs", "report_bytes"))}

{shell(settings["commands"])}
"""


PAGE = ResultsPage("archive", "times", COLUMNS, page)


if __name__ == "__main__":
    whole_run.exit_with(main)
