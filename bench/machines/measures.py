"""What is measured once a round: counts and percentiles of three clients, what ssh adds to a trial, many agents, the program's size."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from shared.store import Row

from .lab import Lab

PORT = 18080
QUANTILES = ("p50", "p90", "p95", "p99", "p99_9")
SERVICE = "exponential:2ms"
RATE, SAMPLES = 200, 12_000
"""Requests a second of each client, few enough that clients and server can share two CPUs, and requests of a load, enough for the 99.9th
percentile. A client that has less to do sleeps longer and wakes more slowly: one and each of three have as much to do."""
AGENTS = 32
REQUESTS = 100_003
"""Of all agents together; not a multiple of their number."""
VALID_OR_NOT = (0, 3)


@dataclass(frozen=True)
class Programs:
    """What is tested."""

    showdown: Path
    static: Path | None
    """A static build, whose size is measured too."""


def row(what: str, known: object, measured: object, detail: str = "") -> Row:
    """A figure beside what it must be; the latter is empty where only a bar says so."""
    return {"what": what, "known": known, "measured": measured, "detail": detail}


def counts(programs: Programs, work: Path, number: int) -> list[Row]:
    """Three clients against known servers on the first of them, by `showdown selftest`."""
    with Lab(work / "lab", 3) as lab:
        argv = [str(programs.showdown), "selftest", "--clients", "c1,c2,c3", "--hosts", lab.hosts_file, "--only", "counts"]
        report = json.loads(lab.run([*argv, "--seed", str(number), "--format", "json"], allowed=VALID_OR_NOT))
    return [row(found["case"], int(found["known"]), int(found["measured"])) for found in report["findings"]]


def percentiles(programs: Programs, work: Path, number: int) -> list[Row]:
    """The server's times by one client and by three, beside the server's own log of the same requests."""
    rows = []
    with Lab(work / "lab", 4) as lab:
        for clients in ("c1", "c1,c2,c3"):
            count = clients.count(",") + 1
            with _known_server(lab, programs, "c4", "--log", f"--service={SERVICE}", f"--seed={number}"):
                rate = RATE * count
                load = ["-r", str(rate), "-d", f"{SAMPLES // rate}s", "-c", "255", "--seed", str(number)]
                found = _load(lab, programs, "c4", clients, load)
                known = _account(lab, "c4")["service_time_us"]
            valid = "valid" if found["valid"] else "; ".join(found["reasons"])
            rows += [row(f"{count}: {q}", known[q], found["server_time_us"][q], valid) for q in QUANTILES]
    return rows


def trial(programs: Programs, work: Path, number: int) -> list[Row]:
    """The same trials with the server on the controller itself and on a host behind ssh: the time of two trials without their loads."""
    rows = []
    with Lab(work / "lab", 1) as lab:
        for what, where in (("local", []), ("over ssh", ["--on", "c1", "--hosts", lab.hosts_file])):
            runs = lab.directory / f"runs-{where[:1]}"
            question = ["nginx", "nginx:worker_processes=2", "--on-op", "get-1k", "--measure", "cpu", "--rate", "200"]
            argv = [str(programs.showdown), "compare", *question, *where, "--quick", "--blocks", "4", "--seed", str(number)]
            argv += ["--runs", str(runs), "--format", "json", "--progress", "none"]
            began = time.monotonic()
            lab.run(argv, allowed=VALID_OR_NOT)
            seconds = time.monotonic() - began
            trials = [json.loads(path.read_text()) for path in runs.glob("2*/trials/*/trial.json")]
            rows.append(row(what, "", f"{median(outside_of_loads(trials)):.3f}", f"{len(trials)} trials, run {seconds:.1f} s"))
    return rows


def outside_of_loads(trials: list[dict]) -> list[float]:
    """How long the two trials of each block were without their loads, which are as long as the method asks for: a warm-up may be repeated."""
    blocks: dict[int, list[dict]] = {}
    for trial in trials:
        blocks.setdefault(trial["block"], []).append(trial)
    return [_span_s(block) - sum(phase["length_s"] for trial in block for phase in trial["phases"]) for block in blocks.values()]


def _span_s(trials: list[dict]) -> float:
    starts = [trial["started_unix_ms"] / 1e3 for trial in trials]
    return max(start + trial["duration_s"] for start, trial in zip(starts, trials)) - min(starts)


def agents(programs: Programs, work: Path, number: int) -> list[Row]:
    """One load of 32 clients, first with the program copied to each, then with the program in their caches."""
    rows = []
    with Lab(work / "lab", AGENTS + 1) as lab:
        server = lab.names[-1]
        with _known_server(lab, programs, server):
            for what in ("program copied", "program in the cache"):
                before = _account(lab, server)["replies"]
                began = time.monotonic()
                clients = ",".join(lab.names[:AGENTS])
                found = _load(lab, programs, server, clients, ["-n", str(REQUESTS), "-c", str(4 * AGENTS), "--seed", str(number)])
                seconds = time.monotonic() - began - found["duration_s"]
                replies = _account(lab, server)["replies"] - before
                rows.append(row(f"{what}: start and end, s", "", f"{seconds:.2f}", f"load {found['duration_s']:.2f} s"))
                rows.append(row(f"{what}: requests", replies, found["requests"]))
                rows.append(row(f"{what}: sum of the clients", replies, sum(one["requests"] for one in found["clients"])))
    return rows


def size(programs: Programs, work: Path, _number: int) -> list[Row]:
    """The program in the cache of a host, as it was copied."""
    rows = []
    for what, options in (("program, bytes", []), ("static build, bytes", ["--program", f"x86_64={programs.static}"])):
        if options and programs.static is None:
            continue
        with Lab(work / "lab", 1) as lab:
            lab.run([str(programs.showdown), "hosts", "--hosts", lab.hosts_file, "--for", "0", *options])
            found = lab.run(["sh", "-c", "stat -c %s /root/.cache/showdown/programs/*/showdown"], "c1")
        rows.append(row(what, "", int(found)))
    return rows


@contextmanager
def _known_server(lab: Lab, programs: Programs, host: str, *options: str) -> Iterator[None]:
    """A server of known behaviour on a host."""
    program = lab.program(programs.showdown)
    server = lab.start([program, "__known-server", "--host", lab.address(host), "--port", str(PORT), *options], host)
    try:
        deadline = time.monotonic() + 20
        while f":{PORT} " not in lab.run(["ss", "-Hltn"], host):
            if time.monotonic() > deadline:
                raise RuntimeError("the known server does not listen")
            time.sleep(0.05)
        yield
    finally:
        for pid in lab.pids("__known-server", host):
            lab.kill(pid, host)
        server.communicate()


def _account(lab: Lab, host: str) -> dict:
    """What the known server says of itself."""
    ask = f"exec 3<> /dev/tcp/{lab.address(host)}/{PORT}; printf 'GET /account HTTP/1.1\\r\\n\\r\\n' >&3; cat <&3"
    # Line ends of text are read as line feeds.
    return json.loads(lab.run(["bash", "-c", ask]).split("\n\n", 1)[1])


def _load(lab: Lab, programs: Programs, server: str, clients: str, options: list[str]) -> dict:
    """One load of these clients."""
    url = f"http://{lab.address(server)}:{PORT}/"
    argv = [str(programs.showdown), "load", url, "--clients", clients, "--hosts", lab.hosts_file, *options]
    return json.loads(lab.run([*argv, "--format", "json", "--progress", "none"], allowed=VALID_OR_NOT))
