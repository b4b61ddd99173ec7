"""Series of rollouts without a fault at a moment: equal servers, planted lateness, leaks, ramps and mail. One row a rollout."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import case
from .bed import SERVICE, Bed, require
from .mail import PLANTED, SLOW, MailBed
from .nginx import candidate_of, starter
from .program import BY

COLUMNS = [
    "series", "repeat", "exit", "status", "carried", "after_s", "requests", "share", "users", "failed",
    "accepted", "lost", "twice", "cut", "at_candidate", "left", "message", "seconds", *BY,
]  # fmt: skip
Row = dict[str, object]
FREEZE = "--freeze=300ms/30s"
"""All servers stall, each at its own time."""
EQUAL_RATE = 60
"""Requests a second of the users. In the last step, each server has a third of them."""
LEAK = "--slows=205us"
"""After 8 minutes, all answers of the candidate are later than the objective."""
NGINX_RATE = 800
RAMP_RATE = 1000
RAMP_OLDS = 8
RAMP_CAPACITY = 2.6
RAMP_SERVICE = f"{1000 / (RAMP_RATE / (RAMP_OLDS + RAMP_CAPACITY)) / RAMP_CAPACITY:.2f}ms"
"""The candidate serves one request at a time. At 2.6 times the share of an old server, it has no time left."""
LONGEST_S = 900.0


@dataclass(frozen=True)
class Series:
    """Rollouts of one kind."""

    about: str
    count: int
    """How many the bar asks for."""
    run: Callable[[Path, Path, int], Row]
    """Of the program, an empty directory and the number of the rollout."""
    guess_s: float
    """Seconds of a rollout, more or less."""
    at_once: bool = True
    """Whether rollouts may run beside one another."""


def run(name: str, repeat: int, showdown: Path, work: Path) -> Row:
    """Runs a rollout; returns its row."""
    directory = work / f"{name}-{repeat}"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    began = time.monotonic()
    row = SERIES[name].run(showdown, directory, repeat)
    shutil.rmtree(directory, ignore_errors=True)
    return {"series": name, "repeat": repeat, **row, "seconds": f"{time.monotonic() - began:.0f}"}


def _end(run: subprocess.Popen, directory: Path) -> Row:
    """The end of a run, and its answer."""
    try:
        code = run.wait(LONGEST_S)
    except subprocess.TimeoutExpired:
        code = 999
    answer = case.answer(directory)
    shares = [step["share"] for step in answer.get("steps") or []]
    return {
        "exit": code,
        "status": answer.get("status", ""),
        "carried": answer.get("carried") or "",
        "after_s": answer.get("seconds", ""),
        "requests": answer.get("requests", ""),
        "share": f"{max(shares):.3f}" if shares else "",
        "message": case.message(directory, answer),
    }


def _web(bed: Bed, rate: int, options: tuple[str, ...] = (), **rules: str | list[int] | float) -> Row:
    """A rollout behind a balancer of HTTP."""
    with bed:
        bed.users(rate, int(LONGEST_S) + 60)
        run = case.start(bed.showdown, bed.plan(**rules), bed.directory, *options)
        bed.processes["run"] = run
        row = _end(run, bed.directory)
        left = case.servers_left(bed)
        operations, failed = bed.failed()
    return row | {"left": left, "users": operations, "failed": failed}


def _bed(showdown: Path, directory: Path, planted: dict[str, list[str]], old_count: int = 1, service: str = SERVICE) -> Bed:
    """A bed that bears a machine which stands still for seconds: many rollouts are beside one another."""
    return Bed(showdown, directory, planted, old_count, service, is_watched=False, lease="10s")


def _equal(showdown: Path, directory: Path, _repeat: int) -> Row:
    bed = _bed(showdown, directory, {name: [FREEZE] for name in ("old1", "control", "candidate")})
    return _web(bed, EQUAL_RATE, dwell="4m50s", longest="5m", steps=[32, 64])


def _late(showdown: Path, directory: Path, _repeat: int) -> Row:
    bed = _bed(showdown, directory, {"candidate": ["--service=bimodal:2ms,200ms,2%"]})
    return _web(bed, 150, dwell="13m", longest="14m", steps=[64])


def _leak(showdown: Path, directory: Path, _repeat: int) -> Row:
    bed = _bed(showdown, directory, {"candidate": [LEAK]})
    return _web(bed, 150, dwell="3m20s", longest="10m", margin=4, steps=[16, 32, 64])


def _ramp(showdown: Path, directory: Path, _repeat: int) -> Row:
    planted = {"candidate": [f"--service=fixed:{RAMP_SERVICE}", "--slots=1", "--queue=100000"]}
    bed = _bed(showdown, directory, planted, RAMP_OLDS, "--service=fixed:2ms")
    return _web(bed, RAMP_RATE, ("--ramp",), dwell="15s")


def _mail(showdown: Path, directory: Path, repeat: int) -> Row:
    planted = list(PLANTED)[repeat % len(PLANTED)]
    # Postfix's user cannot enter every directory.
    with tempfile.TemporaryDirectory(prefix="shift-mail-") as private:
        Path(private).chmod(0o711)
        with MailBed(Path(private)) as bed:
            bed.start_senders(planted)
            run = case.start(showdown, bed.plan(), directory)
            bed.processes["run"] = run
            require(bed.await_weight(lambda weight: weight > 0, run, case.STEP_S), (directory / "run.log").read_text()[-500:])
            slow = []
            for _ in range(SLOW):
                session = bed.begin()
                session.rcpt("user@mx.example")
                slow.append(session)
            bed.await_weight(lambda weight: weight == 0, run, case.STEP_S)
            for number, session in enumerate(slow):
                bed.finish(session, f"<slow-{number}@client.example>")
            row = _end(run, directory)
            bed.end_senders()
            found, at_candidate = bed.await_delivery()
            left = "; ".join(f"{name} {weight}" for name, weight in bed.weights().items() if name != "old")
            sent = bed.sent
    return row | {
        "left": left,
        "accepted": len(sent.accepted),
        "lost": sum(1 for message_id in sent.accepted if message_id not in found),
        "twice": sum(1 for count in found.values() if count > 1),
        "cut": sent.cut,
        "at_candidate": at_candidate,
    }


def _nginx(showdown: Path, directory: Path, repeat: int) -> Row:
    bed = Bed(showdown, directory, start_server=starter(candidate_of(repeat)), is_watched=False, lease="10s")
    return _web(bed, NGINX_RATE, dwell="15s", longest="5m", steps=[16, 64])


SERIES = {
    "nginx": Series("real nginx as old, control and candidate; in every second rollout, 5 % of the candidate's answers are status 503", 10, _nginx, 80),
    "mail": Series("the candidate defers (or, in every second rollout, rejects) a recipient whom the others accept", 20, _mail, 30),
    "ramp": Series(f"a ramp to a server that carries {RAMP_CAPACITY} times the share of an old one", 5, _ramp, 60, at_once=False),
    "late": Series("2 % of the candidate's answers are late, 1 % of the control's; 50 requests/s each", 9, _late, 80),
    "leak": Series("the candidate's answers become slower, and are too late after 8 minutes", 3, _leak, 490),
    "equal": Series(f"equal servers with stalls (`{FREEZE.removeprefix('--')}`), 10 minutes", 40, _equal, 602),
}
