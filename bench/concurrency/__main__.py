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
from shared.figures import Bar, Figure, Rows
from shared.markdown import bars_table, command, facts_table, shell, table, verdict
from shared.results import ResultsPage, Settings

PACE = "47"
"""Bytes a second of a client: a million of them read 40,000 times a second."""
COLUMNS = [
    "run", "transfers", "in_progress", "availability", "rise_s", "hold_s", "first_byte_p50_us", "first_byte_p99_us",
    "first_byte_of_rise_p99_us", "first_byte_of_rise_max_us", "pace_share", "stalled_share", "failed", "never", "once", "twice",
    "marked", "server_cpu_cores", "client_cpu_cores", "server_bytes", "kernel_bytes", "client_bytes", "tcp_bytes",
    "available_bytes", "listen_overflows", "client_late_p99_us",
]  # fmt: skip
MAX_CLIENT_BYTES = 1_024
MAX_RISE_S = 120
MAX_SMALL_S = 60
GAVE_UP_S = 1_200
"""Longer than any run takes."""


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
    parser.add_argument("--results", type=Path, default=whole_run.RESULTS, help="where to write the page [docs/results]")
    parser.add_argument("--report-only", action="store_true", help="write the page again from its raw figures")
    return whole_run.parsed(parser, "showdown")


def _measure(options: argparse.Namespace) -> Path:
    showdown, most = str(options.showdown.resolve()), str(options.most)
    pace = ["--client-rate", PACE]
    runs = {
        "nginx, 50,000": ["nginx", "--to", "50000"],
        "nginx, rising": ["nginx", "--from", "1000", "--step", "10x", "--to", "100000", "--hold", "30s", *pace],
        "nginx, most": ["nginx", "--from", most, "--to", most, "--hold", options.hold, *pace],
        "apache, to its break": ["apache:mpm=event", "--from", "100", "--to", "100000"],
    }
    rows: Rows = []
    settings: Settings = {**machine.facts(whole_run.REPOSITORY, options.showdown), "most": options.most}
    commands, answers = [], {}
    with tempfile.TemporaryDirectory(prefix="showdown-concurrency-") as work:
        for name, arguments in runs.items():
            argv = [showdown, "concurrency", *arguments]
            commands.append(command(["showdown", *argv[1:]], Path(work)))
            whole_run.progress(name)
            began = time.monotonic()
            ended = subprocess.run(
                [*argv, "--format", "json", "--runs", work], capture_output=True, text=True, check=False, timeout=GAVE_UP_S
            )
            if ended.returncode != 0:
                raise BadRun(f"{name}: {ended.stderr.strip()}")
            found = json.loads(ended.stdout)
            answers[name] = {
                "sentence": found["sentence"],
                "ended": found["ended"],
                "recovery": found.get("recovery"),
                "ran_out": found.get("ran_out", []),
                "took_s": round(time.monotonic() - began, 1),
            }
            rows += [_row(name, step) for step in found["steps"]]
    return PAGE.save(rows, {**settings, "commands": commands, "answers": answers}, options.results)


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


def page(rows: Rows, settings: Settings) -> str:
    """The whole page."""
    answers: dict[str, dict] = settings["answers"]
    top = next((row for row in rows if row["run"] == "nginx, most"), None)

    def of_top(column: str) -> Figure | None:
        return Figure.of([float(top[column])]) if top and top[column] != "" else None

    client = Figure.of([float(top["client_bytes"]) / float(top["in_progress"])]) if top else None
    still = float(top["never"]) + float(top["once"]) if top and top["never"] != "" else None
    bars = [
        Bar("transfers in progress at once", 1_000_000, True, of_top("in_progress")),
        Bar("availability", 1.0, True, of_top("availability"), 4),
        Bar("transfers that did not advance twice while they were held", 0, False, None if still is None else Figure.of([still])),
        Bar("from none to all, s", MAX_RISE_S, False, of_top("rise_s"), 1),
        Bar("memory of the client for a transfer, bytes", MAX_CLIENT_BYTES, False, client),
        Bar("50,000 from start to report, s", MAX_SMALL_S, False, Figure.of([answers["nginx, 50,000"]["took_s"]]), 1),
    ]
    named = "\n".join(f"- {name}: {answer['sentence']}. Ended after {answer['took_s']} s: {answer['ended']}." for name, answer in answers.items())
    after = answers["apache, to its break"]
    recovered = (after["recovery"] or {}).get("answered_after_s")
    back = "not within five minutes" if recovered is None else f"after {recovered:.0f} s"
    causes = "; ".join(f"{cause['sentence']} ({', '.join(cause['evidence'])})" for cause in after["ran_out"][:1])
    return f"""# Very many downloads in progress at once

{verdict(bars)}

Measured by `make bench-concurrency` on {settings["date"]}, one machine with both ends, loopback. A client reads at {PACE} B/s where
no other pace follows from the command. Each step was measured once. The raw figures are in `concurrency/`.

{bars_table(bars)}

{named}

## What a transfer costs as they grow in number

{table(HEAD, [_cells(row) for row in rows if str(row["run"]).startswith("nginx, ") and row["run"] != "nginx, 50,000"], numbers=True)}

## Apache's event MPM to its own break

{table(HEAD, [_cells(row) for row in rows if row["run"] == "apache, to its break"], numbers=True)}

What ran out: {causes or "nothing"}. New clients were answered within a second again {back}.

{facts_table(settings, without=("commands", "answers"))}

{shell(settings["commands"])}
"""


HEAD = ["transfers", "in progress", "availability", "rise, s", "first byte of the rise p99, ms", "first byte when held p99, ms",
        "server CPU, cores", "client CPU, cores", "server, B each", "kernel, B each", "client, B each"]  # fmt: skip


def _cells(row: dict[str, object]) -> list[str]:
    each = max(1.0, float(row["in_progress"]))
    bytes_each = [f"{float(row[name] or 0) / each:,.0f}" for name in ("server_bytes", "kernel_bytes", "client_bytes")]
    ms = [f"{float(row[name]) / 1e3:,.1f}" for name in ("first_byte_of_rise_p99_us", "first_byte_p99_us")]
    cores = [f"{float(row[name] or 0):.2f}" for name in ("server_cpu_cores", "client_cpu_cores")]
    counts = [f"{int(row['transfers']):,}", f"{int(row['in_progress']):,}"]
    return [*counts, f"{float(row['availability']):.2%}", f"{float(row['rise_s']):.1f}", *ms, *cores, *bytes_each]


PAGE = ResultsPage("concurrency", "steps", COLUMNS, page)


if __name__ == "__main__":
    whole_run.exit_with(main)
