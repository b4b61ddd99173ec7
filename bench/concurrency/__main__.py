"""The command line: `python3 -m concurrency --help`. One machine has both ends; all addresses are loopback."""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

from shared import machine, whole_run
from shared.errors import BadRun
from shared.figures import Rows
from shared.markdown import command
from shared.results import Settings

from . import kill, peers
from .page import COLUMNS, MOST, PACE, PAGE

GAVE_UP_S = 1_200
"""Longer than any run takes."""
KILLED_AT = 0.7
"""The share of the most transfers at which a run is killed."""


def main() -> int:
    """Runs nginx up to the most transfers and Apache to its break, or only writes the page."""
    options = _options()
    return whole_run.main(
        "bench-concurrency", options.report_only, None, lambda: PAGE.write(options.results), lambda: _measure(options)
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-concurrency", description="Very many downloads in progress at once.")
    parser.add_argument("--showdown", type=Path, help="the binary")
    parser.add_argument("--most", type=int, default=1_000_000, help="transfers of the largest run [%(default)s]")
    parser.add_argument("--hold", default="60s", help="how long they are held [%(default)s]")
    parser.add_argument("--only", nargs="+", default=list(STAGES), choices=STAGES, help="measure these, and keep the others' figures")
    parser.add_argument("--results", type=Path, default=whole_run.RESULTS, help="where to write the page [docs/results]")
    parser.add_argument("--report-only", action="store_true", help="write the page again from its raw figures")
    return whole_run.parsed(parser, "showdown")


def _commands(most: int, hold: str) -> dict[str, list[str]]:
    """The arguments of each run, by its name on the page."""
    pace = ["--client-rate", PACE]
    return {
        "nginx, 50,000": ["nginx", "--to", "50000"],
        "nginx, rising": ["nginx", "--from", "1000", "--step", "10x", "--to", "100000", "--hold", "60s", *pace],
        MOST: ["nginx", "--from", str(most), "--to", str(most), "--hold", hold, "--begin-rate", "9000", *pace],
        "apache, to its break": ["apache:mpm=event", "--from", "100", "--to", "100000"],
    }


STAGES = ("small", "rising", "most", "apache", "killed", "peers")


def _measure(options: argparse.Namespace) -> Path:
    kept_rows, kept = _kept(options)
    commands: dict[str, str] = dict(kept.get("commands", {}))
    answers: dict[str, dict] = dict(kept.get("answers", {}))
    settings: Settings = {**machine.facts(whole_run.REPOSITORY, options.showdown), "most": options.most}
    rows: Rows = []
    with tempfile.TemporaryDirectory(prefix="showdown-concurrency-") as work:
        for (name, arguments), stage in zip(_commands(options.most, options.hold).items(), STAGES):
            if stage not in options.only:
                rows += [row for row in kept_rows if row["run"] == name]
                continue
            whole_run.progress(name)
            argv = [str(options.showdown.resolve()), "concurrency", *arguments]
            commands[name] = command(["showdown", *argv[1:]], Path(work))
            steps, answers[name] = _run(name, argv, work)
            rows += steps
        killed, others = kept.get("killed"), kept.get("peers", [])
        if "killed" in options.only:
            whole_run.progress("killed while it rises")
            killed = kill.killed_at(
                [str(options.showdown.resolve()), "concurrency", *_commands(options.most, options.hold)[MOST], "--runs", work],
                int(options.most * KILLED_AT),
            )
        if "peers" in options.only:
            others = peers.rows(Path(work), whole_run.progress)
    return PAGE.save(rows, {**settings, "commands": commands, "answers": answers, "killed": killed, "peers": others}, options.results)


def _kept(options: argparse.Namespace) -> tuple[Rows, dict]:
    """What an earlier bench has measured, where only a part is measured again."""
    if set(options.only) == set(STAGES):
        return [], {}
    try:
        return PAGE.saved(options.results)
    except FileNotFoundError:
        return [], {}


def _run(name: str, argv: list[str], work: str) -> tuple[Rows, dict]:
    began = time.monotonic()
    argv = [*argv, "--format", "json", "--runs", work]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=GAVE_UP_S)
    # Exit code 3: the client was the limit, which the page says.
    if ended.returncode not in (0, 3):
        raise BadRun(f"{name}: {ended.stderr.strip()}")
    found = json.loads(ended.stdout)
    answer = {
        "sentence": found["sentence"],
        "ended": found["ended"],
        "comfortable_point": found.get("comfortable_point"),
        "breaking_point": found.get("breaking_point"),
        "recovery": found.get("recovery"),
        "ran_out": found.get("ran_out", []),
        "took_s": round(time.monotonic() - began, 1),
    }
    return [_row(name, step) for step in found["steps"]], answer


def _row(name: str, step: dict) -> dict[str, object]:
    advances = step.get("advances") or {}
    own = {
        "run": name,
        "first_byte_p50_us": step["first_byte"]["p50_us"],
        "first_byte_p99_us": step["first_byte"]["p99_us"],
        "first_byte_of_rise_p99_us": step["first_byte_of_rise"]["p99_us"],
        "first_byte_of_rise_max_us": step["first_byte_of_rise"]["max_us"],
        "failed": sum(step["errors"].values()),
        "marked": advances.get("transfers", ""),
        "listen_overflows": step["counters"].get("listen_overflows", 0),
    }
    return {column: own.get(column, advances.get(column, step.get(column, ""))) for column in COLUMNS}


if __name__ == "__main__":
    whole_run.exit_with(main)
