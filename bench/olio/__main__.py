"""The command line: `python3 -m olio --help`."""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path

from shared import machine, processes, series
from shared.ledger import Ledger
from shared.showdown import NoAnswer, ask
from shared.whole_run import REPOSITORY, progress

from . import page


def main() -> int:
    """Continues the series: rounds of all pieces that are asked for, in random order."""
    parser = argparse.ArgumentParser(prog="bench-olio", description="Olio: its data, and comparisons of its implementations.")
    names = [*page.DATA, *page.PAIRS]
    parser.add_argument("--only", choices=names, nargs="+", default=names, help="what to measure [all]")
    parser.add_argument("--users", type=int, default=100, help="users of a comparison [%(default)s]")
    parser.add_argument("--blocks", type=int, help="blocks of a comparison [those of --quick]")
    parser.add_argument("--olio", type=Path, help="the program olio")
    parser.add_argument("--builds", default="release", help="how both programs were built [%(default)s]")
    parser.add_argument("--beside", default="", help="what else used the machine, for the page")
    options = series.parse(parser, "olio")
    ledgers = page.ledgers(options.results)
    return series.run(options, "olio", lambda end: _round(options, ledgers, end), lambda: page.write(ledgers))


def _round(options: argparse.Namespace, ledgers: dict[str, Ledger], end: float) -> None:
    for name in random.sample(options.only, len(options.only)):
        if time.monotonic() >= end:
            return
        if name in page.DATA:
            row = _data(options, page.DATA[name])
            ledgers["data"].append(row)
            progress(f"{name}: {row['seconds']} s")
            continue
        rows = _compare(options, page.PAIRS[name])
        for row in rows:
            ledgers["comparisons"].append(row)
        progress(f"{name}: {rows[0]['verdict']}, {rows[0]['seconds']} s")


def _of_all(options: argparse.Namespace) -> dict[str, object]:
    return {"at": series.now(), "commit": machine.commit(REPOSITORY), "builds": options.builds, "beside": options.beside}


def _data(options: argparse.Namespace, rows: int) -> dict[str, object]:
    """Makes the rows and the media of this number of users, in a directory of its own."""
    with tempfile.TemporaryDirectory() as directory:
        began = time.monotonic()
        argv = [str(options.olio.resolve()), "data", "--rows", str(rows), "--cache", directory]
        ran = processes.ask(argv, None)
        seconds = time.monotonic() - began
        if ran.returncode:
            raise NoAnswer(f"olio data: {ran.stderr.strip()}")
        bytes_of = {name: _bytes(Path(directory), name) for name in ("database", "assets")}
    return _of_all(options) | {"rows": rows, "seconds": round(seconds, 1)} | {f"{name}_mb": round(size / 1e6) for name, size in bytes_of.items()}


def _bytes(directory: Path, name: str) -> int:
    return sum(path.stat().st_size for path in directory.glob(f"*/{name}/**/*") if path.is_file())


def _compare(options: argparse.Namespace, pair: tuple[str, str]) -> list[dict[str, object]]:
    """A quick comparison: a row for each of the two, with what is known of both in each."""
    blocks = ["--blocks", str(options.blocks)] if options.blocks else []
    arguments = ["compare", *pair, "--users", str(options.users), "--quick", *blocks]
    with tempfile.TemporaryDirectory() as directory:
        began = time.monotonic()
        answer = json.loads(ask(options.showdown.resolve(), [*arguments, "--format", "json", "--progress", "none"], Path(directory)))
        seconds = time.monotonic() - began
    [comparison] = answer["comparisons"]
    estimate = comparison["estimate"] or {"ratio": "", "low": "", "high": ""}
    of_all = _of_all(options) | {
        "command": " ".join(arguments),
        "users": options.users,
        "seconds": round(seconds),
        "a": comparison["a"],
        "b": comparison["b"],
        "verdict": comparison["verdict"]["outcome"],
        **{name: _rounded(estimate[name], 4) for name in ("ratio", "low", "high")},
    }
    return [of_all | _variant(variant) for variant in answer["variants"]]


def _variant(variant: dict) -> dict[str, object]:
    parts = {part["part"]: part for part in variant.get("parts", [])}
    return {
        "server": variant["name"],
        "valid": variant["valid"],
        "invalid": variant["invalid"],
        "cpu_us": _rounded(variant["median"], 1),
        "users_per_core": _rounded(variant.get("users_per_core"), 0),
        **{f"{name}_us": _rounded(parts[name]["cpu_us"], 1) if name in parts else "" for name in page.PARTS},
        "memory_mb": round(sum(part["peak_rss_bytes"] for part in parts.values()) / 1e6),
    }


def _rounded(value: object, digits: int) -> object:
    return "" if value in (None, "") else round(float(value), digits)


if __name__ == "__main__":
    sys.exit(main())
