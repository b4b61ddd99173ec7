"""The command line: `python3 -m peers --help`."""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from shared import machine, meter, whole_run
from shared.errors import BadRun, ServerError
from shared.markdown import plural
from shared.showdown import ENGINE
from shared.store import OtherRun, Store
from shared.whole_run import REPOSITORY

from . import report, schedule, tables
from .clients import FLOOR, OPTIONAL, named
from .servers import Memcached, Nginx
from .trials import Testbed

TOOLS = ["nginx", "memcached", "wrk", "ab", "h2load", "hey", "memcaslap", "perf", "strace", "openssl"]


def main() -> int:
    """Measures and writes the page, or only writes the page."""
    options = _options()
    try:
        if not options.report_only:
            _measure(options, tables.store(options.work))
        report.write(options.results)
    except (BadRun, ServerError, OtherRun, meter.MeterError, FileNotFoundError) as error:
        print(f"bench-peers: {error}", file=sys.stderr)
        return 1
    print(f"{options.results / 'peers.md'}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-peers", description="Engine and peers, interleaved.")
    parser.add_argument("--engine", type=Path, help="the showdown binary")
    parser.add_argument("--floor", type=Path, help="the floor binary, from bench/floor")
    parser.add_argument(
        "--peer", action="append", default=[], metavar="NAME=PATH",
        help=f"a further peer and its binary: {', '.join(OPTIONAL)}; may be repeated",
    )  # fmt: skip
    parser.add_argument("--rounds", type=int, default=7, help="rounds to measure [%(default)s]")
    parser.add_argument("--connections", type=int, default=64, help="connections of each client [%(default)s]")
    parser.add_argument("--window", type=float, default=2.5, metavar="SECONDS", help="measured part of a run [%(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="seed of the order within the rounds [%(default)s]")
    parser.add_argument("--server-cpu", type=int, default=0, help="CPU of the servers [%(default)s]")
    parser.add_argument("--client-cpu", type=int, default=1, help="CPU of the clients [%(default)s]")
    parser.add_argument("--work", type=Path, default=REPOSITORY / "target/bench-peers", help="rows of an unfinished bench")
    parser.add_argument("--results", type=Path, default=REPOSITORY / "docs/results", help="where to write the page [docs/results]")
    parser.add_argument("--fresh", action="store_true", help="discard an unfinished bench")
    parser.add_argument("--tolerate-noise", action="store_true", help="count runs on a busy machine too: for trying things out")
    parser.add_argument("--report-only", action="store_true", help="write the page again from its raw figures")
    options = whole_run.parsed(parser, "engine", "floor")
    try:
        options.peers = peers(options.peer)
    except ValueError as why:
        parser.error(str(why))
    return options


def peers(given: list[str]) -> dict[str, Path]:
    """The binaries of further peers by name. ValueError says what is wrong with one."""
    found = {}
    for text in given:
        name, _, path = text.partition("=")
        if name not in OPTIONAL:
            raise ValueError(f"--peer {text}: there is no peer {name!r}: name one of {', '.join(OPTIONAL)}")
        if not path or not os.access(path, os.X_OK) or Path(path).is_dir():
            raise ValueError(f"--peer {text}: {path!r} is no program: write {name}=PATH")
        found[name] = Path(path).resolve()
    return found


def _digests(binaries: dict[str, Path]) -> str:
    """The peers that a person has named, with what identifies their builds."""
    digests = {name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for name, path in binaries.items()}
    return ", ".join(f"{name} (sha256 {digest})" for name, digest in sorted(digests.items()))


def _measure(options: argparse.Namespace, store: Store) -> None:
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        raise BadRun(f"not installed: {', '.join(missing)}: run scripts/install-packages bench")
    cpus = os.sched_getaffinity(0)
    if not {options.server_cpu, options.client_cpu} <= cpus or options.server_cpu == options.client_cpu:
        raise BadRun(f"server and client need one CPU each, of {sorted(cpus)}: pass --server-cpu and --client-cpu")
    if options.fresh:
        shutil.rmtree(options.work, ignore_errors=True)
    counters = meter.can_count("cycles:u")
    settings = {
        **machine.facts(REPOSITORY, options.engine),
        "method": "hardware counters" if counters else "sampling",
        "rounds": options.rounds,
        "connections": options.connections,
        "window_s": options.window,
        "seed": options.seed,
        "noise": "tolerated" if options.tolerate_noise else "refused",
        **({"peers": _digests(options.peers)} if options.peers else {}),
    }
    if not counters and not meter.can_count("cpu-clock:k"):
        raise meter.MeterError("perf may not sample the kernel: run as root, or set kernel.perf_event_paranoid=-1")
    store.open(settings)
    # SIGTERM unwinds the stack like Ctrl-C, so that the servers are stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="showdown-peers-")))
        testbed = Testbed(
            nginx=stack.enter_context(Nginx(directory, options.server_cpu)),
            memcached=stack.enter_context(Memcached(directory, options.server_cpu)),
            server_cpu=options.server_cpu,
            client_cpu=options.client_cpu,
            spare_cpu=next(iter(sorted(cpus - {options.server_cpu, options.client_cpu}, reverse=True)), None),
            directory=directory,
            binaries={
                ENGINE: str(options.engine.resolve()),
                FLOOR: str(options.floor.resolve()),
                **{name: str(path) for name, path in options.peers.items()},
            },
            connections=options.connections,
            window_seconds=options.window,
            counters=counters,
            tolerate_noise=options.tolerate_noise,
        )
        failed = schedule.run(testbed, store, schedule.plan(options.rounds, options.seed, named(options.peers)))
    if failed:
        raise BadRun(f"{plural(failed, 'trial')} failed, see above: run the same command to repeat")
    store.publish(options.results / "peers")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("bench-peers: stopped: run the same command to continue", file=sys.stderr)
        sys.exit(130)
