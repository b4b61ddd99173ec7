"""The command line: `python3 -m shift --help`."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from shared import cases, machine, processes
from shared.errors import ServerError
from shared.ledger import Ledger
from shared.store import Store
from shared.whole_run import REPOSITORY, progress

from . import case, page, program, series, simulation
from .faults import FAULTS
from .remaining import Part, in_words
from .series import SERIES

TABLES = {"cases": case.COLUMNS, "series": series.COLUMNS, "simulated": simulation.COLUMNS}
KEYS = {"cases": "fault", "series": "series"}
SIMULATED = "simulated"
ATTEMPTS = 3
"""A server may find its port taken."""
STOPPING = threading.Event()
Job = Callable[[], dict[str, object]]


def main() -> int:
    """Runs the cases that have no row yet, and writes the page of all."""
    options = _options()
    for number in (signal.SIGINT, signal.SIGTERM):
        # A shell ignores SIGINT for what it runs in the background.
        signal.signal(number, signal.default_int_handler)
    if options.report_only:
        return _write(options.results)
    if options.fresh:
        shutil.rmtree(options.work, ignore_errors=True)
    store = Store(options.work, TABLES, ("repeat",))
    published = options.results / "live-traffic"
    if not options.fresh:
        program.continue_published(options.work, published, TABLES)
    by = program.of(options.showdown, options.profile)
    if options.this_commit:
        progress(f"{program.set_aside(options.work, published, TABLES, by)} rows of other commits are set aside")
    # Each row has its commit: the program may change while a bench is stopped.
    of_machine = {name: fact for name, fact in machine.facts(REPOSITORY, options.showdown).items() if not name.startswith("engine")}
    store.open(of_machine | {name: machine.version(name) for name in ("haproxy", "postfix", "nginx")} | {"seed": options.seed})
    bad = 0
    try:
        names = [name for name in options.only if name != SIMULATED]
        parts = {name: _part(name, options, store) for name in names}
        progress(in_words(list(parts.values())) + "".join(f"; {part.name}: {part.missing}" for part in parts.values() if part.missing))
        if SIMULATED in options.only and not store.rows(SIMULATED):
            progress("simulated rollouts: minutes, and more with a build without optimisation")
            for row in simulation.run(options.showdown.resolve().parent, options.simulated):
                store.add(SIMULATED, row | by)
        for name in names:
            bad += _run(name, options, store, parts, by)
    except KeyboardInterrupt:
        progress("stopped: run the same command to continue")
    command = cases.command("bench-shift", sys.argv[1:])
    settings = store.settings()
    commands = [*settings.get("commands", []), command]
    settings["commands"] = list(dict.fromkeys(commands))
    (options.work / "run.json").write_text(json.dumps(settings, indent=2, ensure_ascii=False) + "\n")
    store.publish(published)
    _write(options.results)
    return 1 if bad else 0


def _table_of(name: str) -> str:
    return "cases" if name in FAULTS else "series"


def _missing(name: str, options: argparse.Namespace, store: Store) -> list[int]:
    """The numbers of the rollouts that have no row yet."""
    table = _table_of(name)
    count = options.repeats if name in FAULTS else min(SERIES[name].count, options.rollouts)
    done = {row["repeat"] for row in store.rows(table) if row[KEYS[table]] == name}
    return [repeat for repeat in range(1, count + 1) if str(repeat) not in done]


def _part(name: str, options: argparse.Namespace, store: Store) -> Part:
    """What is missing of a fault or of a series, and how long its rollouts have taken."""
    table = _table_of(name)
    is_fault = name in FAULTS
    at_once = options.at_once if is_fault or SERIES[name].at_once else 1
    seen_s = [float(row["seconds"]) for row in store.rows(table) if row[KEYS[table]] == name]
    return Part(name, len(_missing(name, options, store)), at_once, case.GUESS_S if is_fault else SERIES[name].guess_s, seen_s)


def _run(name: str, options: argparse.Namespace, store: Store, parts: dict[str, Part], by: dict[str, str]) -> int:
    """Runs what is missing of a fault or of a series; returns how many rollouts do not keep their bar."""
    is_fault = name in FAULTS
    table = _table_of(name)
    jobs: dict[int, Job] = {repeat: _job(name, repeat, options) for repeat in _missing(name, options, store)}
    bad = 0
    with ThreadPoolExecutor(parts[name].at_once) as pool:
        futures = {pool.submit(job): repeat for repeat, job in jobs.items()}
        try:
            for future in as_completed(futures):
                row = future.result() | by
                store.add(table, row)
                parts[name].took(float(str(row["seconds"])))
                found = page.problems(row) if is_fault else page.problems_of_series(row)
                bad += bool(found)
                progress(f"{name} {futures[future]}: exit {row['exit']}, {row['seconds']} s in all; {'; '.join(found) or 'ok'}: {row['message']}; {in_words(list(parts.values()))}")
        except BaseException:
            _end_all(pool)
            raise
    return bad


def _end_all(pool: ThreadPoolExecutor) -> None:
    """Ends the processes of all rollouts, whose threads end with them."""
    STOPPING.set()
    pool.shutdown(wait=False, cancel_futures=True)
    for pid in processes.descendants(os.getpid())[1:]:
        try:
            os.kill(pid, signal.SIGTERM)
        except ProcessLookupError:
            pass


def _job(name: str, repeat: int, options: argparse.Namespace) -> Job:
    """One rollout, which is begun again if a server did not start."""
    showdown = options.showdown.resolve()

    def attempt() -> dict[str, object]:
        for left in reversed(range(ATTEMPTS)):
            try:
                if name in FAULTS:
                    return case.run(name, repeat, options.seed, showdown, options.work)
                return series.run(name, repeat, showdown, options.work)
            except (ServerError, subprocess.SubprocessError) as error:
                if STOPPING.is_set() or not left:
                    raise
                progress(f"{name} {repeat}: {error}")
        raise AssertionError("unreachable")

    return attempt


def text(results: Path) -> str:
    """The page from its raw figures."""
    folder = results / "live-traffic"
    tables = {name: Ledger(folder / f"{name}.csv", columns).rows() for name, columns in TABLES.items()}
    earlier = {name: Ledger(folder / program.EARLIER / f"{name}.csv", columns).rows() for name, columns in TABLES.items()}
    return page.render(tables, earlier, json.loads((folder / "run.json").read_text()))


def _write(results: Path) -> int:
    path = results / "live-traffic.md"
    path.write_text(text(results))
    print(path)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-shift", description="Rollouts behind a real HAProxy: disturbed ones, and series of others.")
    everything = [*FAULTS, *SERIES, SIMULATED]
    parser.add_argument("--only", choices=everything, nargs="+", default=everything, metavar="NAME", help=f"what to run [all]: {', '.join(everything)}")
    parser.add_argument("--repeats", type=int, default=20, help="rollouts of each fault [%(default)s]")
    parser.add_argument("--rollouts", type=int, default=1000, help="at most so many rollouts of a series [as many as its bar asks for]")
    parser.add_argument("--simulated", type=int, default=1000, help="simulated rollouts of a kind [%(default)s]")
    parser.add_argument("--at-once", type=int, default=1, help="rollouts of a fault or of a series beside one another, ramps one by one [%(default)s]")
    parser.add_argument("--profile", help="how the binary was built [the name of its directory]")
    parser.add_argument("--this-commit", action="store_true", help="set the rows of other commits aside: they move to live-traffic/earlier")
    parser.add_argument("--seed", type=int, default=1, help="seed of the moments [%(default)s]")
    return cases.parse(parser, "it signals processes of several users, and starts Postfix")


if __name__ == "__main__":
    sys.exit(main())
