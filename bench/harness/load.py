"""A full queue, many controllers with runs that tell of themselves, and watchers of all of them."""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from pathlib import Path

from shared import processes, whole_run
from shared.errors import ServerError
from shared.figures import Rows

from . import samples
from .bed import PATIENCE_S, Api, Bed, Programs, peak_mb, with_seed
from .database import Postgres
from .watchers import Watchers

CLAIMS = 1_000
LISTS = 20
RESTARTS = 5
KILLS_PER_S = 20
LEASE_S = 65
"""A controller that is silent is named within this time."""
LONG_MS = 3_600_000
KILLED_FROM = 1
"""The controller that is killed has the number 0."""


def measure(options: argparse.Namespace, programs: Programs, home: Path, store: str, database: Postgres | None) -> Rows:
    """All figures of one store."""
    rows: Rows = []

    def add(what: str, values: list[float] | Counter[float]) -> None:
        rows.extend(samples.rows(store, 0, what, values))

    with Bed(programs, home, database) as bed:
        api = Api(bed.runs)
        whole_run.progress(f"{store}: {options.entries} entries are submitted")
        plan = bed.plan()
        add("submit", [_timed(api, "POST", "entries", {"plan": with_seed(plan, seed)}) for seed in range(options.entries)])
        add("claim", _claims(bed))
        add("list the queue", [_timed(api, "GET", "entries") for _ in range(LISTS)])
        whole_run.progress(f"{store}: {options.controllers} controllers start")
        every_ms = round(1000 / options.lines)
        for number in range(options.controllers + KILLED_FROM):
            bed.start_controller(number, LONG_MS, every_ms)
        running = _until_running(api, options.controllers + KILLED_FROM)
        named, dead = _controller_of(bed, api, running)
        whole_run.progress(f"{store}: {options.watchers} watchers for {options.seconds} s")
        with Watched(bed, database) as watched, Watchers(api, running, options.watchers) as watchers:
            time.sleep(options.seconds)
        add("line arrives", watchers.arrivals_ms)
        rows += watched.rows(store, options.seconds)
        whole_run.progress(f"{store}: each run is killed")
        add("kill until SIGINT", _kills(bed, api, [entry for entry in running if entry != named]))
        whole_run.progress(f"{store}: the lease of a dead controller ends")
        add("lost controller is named, s", [_until_lost(api, named, dead)])
        add("server is back", [bed.kill_server() for _ in range(RESTARTS)])
        add("memory of the server, MB", [peak_mb(bed.server.pid)] if bed.server else [])
    return rows


def _timed(api: Api, method: str, path: str, body: object = None) -> float:
    began = time.perf_counter()
    api.call(method, path, body)
    return (time.perf_counter() - began) * 1e3


def _claims(bed: Bed) -> list[float]:
    """Claims of the first of all entries that wait, each of which ends at once."""
    api, times = Api(bed.runs, "controller.json"), []
    api.call("POST", "controllers", {"id": "claims", "boot": "1", "name": "claims", "host": "claims", "version": "0", "rules": "all"})
    queue = Api(bed.runs).call("GET", "entries")
    waiting = len(queue["entries"]) + queue["more"]
    for _ in range(min(CLAIMS, waiting // 5)):
        began = time.perf_counter()
        work = api.call("POST", "claims", {"controller": {"id": "claims", "boot": "1"}})["work"]
        times.append((time.perf_counter() - began) * 1e3)
        path, token = f"attempts/{work['attempt']['entry']}", work["attempt"]["token"]
        api.call("POST", path, {"token": token, "begins": True})
        api.call("POST", path, {"token": token, "ends": {"outcome": "failed", "reason": "the bench"}})
    return times


def _until_running(api: Api, count: int) -> list[int]:
    """The entries of so many controllers, once their runs tell of themselves."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        entries = api.call("GET", "entries")["entries"]
        running = [entry["id"] for entry in entries if entry["state"] == "running" and entry.get("run")]
        if len(running) == count:
            return running
        time.sleep(1.0)
    raise ServerError(f"{len(running)} of {count} controllers have a run after {PATIENCE_S:.0f} s")


def _controller_of(bed: Bed, api: Api, running: list[int]) -> tuple[int, float]:
    """Kills the first controller; its entry, and when it died."""
    hosts = {host["name"]: host for host in api.call("GET", "hosts")["hosts"]}
    entry = int(hosts["h0"]["entry"])
    assert entry in running
    bed.kill_controller(0)
    return entry, time.monotonic()


def _until_lost(api: Api, entry: int, since: float) -> float:
    """Seconds until the entry of a killed controller is lost."""
    end = time.monotonic() + 2 * LEASE_S
    while time.monotonic() < end:
        found = api.call("GET", f"entries/{entry}")
        if found["state"] == "lost":
            return found["ended_unix_ms"] / 1e3 - time.time() + time.monotonic() - since
        time.sleep(0.2)
    raise ServerError(f"entry {entry} is not lost after {2 * LEASE_S} s")


def _kills(bed: Bed, api: Api, entries: list[int]) -> list[float]:
    """Kills each entry by the API; how long it took until its run got the signal."""
    asked_us = {}
    for entry in entries:
        seed = _seed(api, entry)
        asked_us[seed] = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000
        api.call("POST", f"entries/{entry}/kill")
        time.sleep(1 / KILLS_PER_S)
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        stopped = {seed: at for what, seed, _, at in bed.told() if what == "sigint"}
        if all(seed in stopped for seed in asked_us):
            return [(stopped[seed] - asked_us[seed]) / 1e3 for seed in asked_us]
        time.sleep(0.2)
    raise ServerError("some runs did not stop")


def _seed(api: Api, entry: int) -> int:
    _, text = api.ask("GET", f"/api/v1/entries/{entry}/plan")
    return int(next(line for line in text.decode().splitlines() if line.startswith("seed = ")).removeprefix("seed = "))


class Watched:
    """The CPU time of the server, of a controller and of the database from here to there."""

    def __init__(self, bed: Bed, database: Postgres | None):
        assert bed.server
        self._parts = {"CPUs of the server": processes.descendants(bed.server.pid), "CPUs of a controller": [each.pid for each in bed.controllers.values()]}
        if database:
            self._parts["CPUs of the database"] = processes.descendants(database.pid)

    def __enter__(self) -> Watched:
        self._before = self._used_s()
        return self

    def __exit__(self, *_error) -> None:
        self._after = self._used_s()

    def _used_s(self) -> dict[str, list[float]]:
        return {name: [_cpu_s(pid) for pid in pids] for name, pids in self._parts.items()}

    def rows(self, store: str, seconds: float) -> Rows:
        """Shares of one CPU: of each controller, and of all processes of the others."""
        found: Rows = []
        for name, before in self._before.items():
            shares = [(after - first) / seconds for first, after in zip(before, self._after[name], strict=True)]
            found += samples.rows(store, 0, name, shares if name == "CPUs of a controller" else [sum(shares)])
        return found


def _cpu_s(pid: int) -> float:
    """CPU time of a process without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
