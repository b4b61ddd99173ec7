"""The command line: `python3 -m olio --help`."""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

from shared import machine, processes, series
from shared.ledger import Ledger
from shared.showdown import NoAnswer
from shared.whole_run import REPOSITORY, progress

from . import compared, data, knee, page
from .pieces import DATA, GROUPS, PAIRS, PIECES, named


def main() -> int:
    """Continues the series: rounds of all pieces that are asked for, in random order."""
    parser = argparse.ArgumentParser(prog="bench-olio", description="Olio: its data, comparisons and knees of its implementations, proofs that they are equal.")
    names = [*GROUPS, *PIECES]
    parser.add_argument("--only", choices=names, nargs="+", default=["data", "quick"], metavar="PIECE", help=f"what to measure [data quick]: {', '.join(names)}")
    parser.add_argument("--users", type=int, default=100, help="users of a comparison [%(default)s]")
    parser.add_argument("--blocks", type=int, help="blocks of a comparison and of a point of a sweep [as many as the command takes]")
    parser.add_argument("--olio", type=Path, help="the program olio")
    parser.add_argument("--builds", default="release", help="how both programs were built [%(default)s]")
    parser.add_argument("--beside", default="", help="what else used the machine, for the page")
    options = series.parse(parser, "olio")
    options.only = named(options.only)
    ledgers = page.ledgers(options.results)
    return series.run(options, "olio", lambda end: _round(options, ledgers, end), lambda: page.write(ledgers, options.results))


def _round(options: argparse.Namespace, ledgers: dict[str, Ledger], end: float) -> None:
    for name in random.sample(options.only, len(options.only)):
        if time.monotonic() >= end:
            return
        progress(f"{name}: takes about {PIECES[name].minutes:g} min on a quiet machine")
        began = time.monotonic()
        said = _measure(options, ledgers, name)
        progress(f"{name}: {said} ({(time.monotonic() - began) / 60:.1f} min)")


def _measure(options: argparse.Namespace, ledgers: dict[str, Ledger], name: str) -> str:
    """Measures a piece, and saves its rows at once."""
    piece = PIECES[name]
    blocks = ["--blocks", str(options.blocks)] if options.blocks else []
    if piece.group == "prove":
        return _prove(options, piece.subject)
    if piece.group == "data":
        ledger, rows = "data", [data.measure(options.olio, DATA[piece.subject])]
        said = f"{rows[0]['seconds']} s, the same twice: {rows[0]['same']}"
    elif piece.group == "knees":
        server = f"olio-{piece.subject}"
        ledger, rows = "knees", knee.measure(options.showdown, server, page.users_per_core(ledgers, server), blocks)
        last = knee.knee(rows)
        said = f"{last['users']} users" if last else "no point passes"
    else:
        quick = ["--quick"] if piece.group == "quick" else []
        ledger, rows = "comparisons", compared.measure(options.showdown, PAIRS[piece.subject], quick + blocks, options.users)
        said = rows[0]["verdict"]
    of_all = {"at": series.now(), "commit": machine.commit(REPOSITORY), "builds": options.builds, "beside": options.beside}
    for row in rows:
        ledgers[ledger].append(of_all | row)
    return str(said)


def _prove(options: argparse.Namespace, name: str) -> str:
    """Saves what `olio prove` says of an implementation, with its commit."""
    ran = processes.ask([str(options.olio.resolve()), "prove", name], None)
    head = f"olio prove {name} ({series.now()}, {machine.commit(REPOSITORY)}, {options.builds})"
    said = "\n".join([head, ran.stdout.strip(), ran.stderr.strip()]).strip()
    folder = options.results / "olio"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"prove-{name}.txt").write_text(f"{said}\n")
    if ran.returncode:
        raise NoAnswer(f"olio prove {name}: {ran.stderr.strip()}")
    return "equal"


if __name__ == "__main__":
    sys.exit(main())
