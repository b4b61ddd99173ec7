"""Every row of the tables: server, load, truth and measurement.

A case writes one row, or one per percentile. Its name is unique within its table.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from shared.errors import BadRun
from shared.known import Known
from shared.markdown import plural
from shared.store import Row, Store

from . import clients, disturbances

_COLUMNS = {
    "percentiles": "client round protocol service share rate_per_s quantile true_us reported_us client_us valid reasons",
    "freeze": "client how connections quantile arithmetic_us reported_us requests",
    "counts": "client what server_count client_count",
    "arrivals": "rate_per_s kind gaps windows failing beyond_windows beyond_failing shorter_than_a_send p1_us p50_us p99_us longest_us"
    " lag_p50_us lag_p99_us",
    "saturation": "side how rate_per_s client_utilisation steal valid reasons",
    "steady": "warms_s discarded_s warm_per_s measured_per_s valid",
}
TABLES = {name: ["case", *columns.split()] for name, columns in _COLUMNS.items()}
KEY = ("case",)


def store(directory: Path) -> Store:
    """The rows of this bench in a directory."""
    return Store(directory, TABLES, KEY)


ROUNDS = 3
SHARES = (0.1, 0.5, 0.8)
# No percentile of interest equals the share of slow requests: at its edge a single request decides between the modes.
SERVICES = ("fixed:1ms", "uniform:1ms..3ms", "exponential:2ms", "bimodal:1ms,10ms,7%")
MEAN_S = {"fixed:1ms": 0.001, "uniform:1ms..3ms": 0.002, "exponential:2ms": 0.002, "bimodal:1ms,10ms,7%": 0.00163}
QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}
FREEZE_S, PERIOD_S, PERIODS, RATE = 1.0, 10.0, 3, 1_000
ERRS_EVERY, DROPS_EVERY, REQUESTS = 50, 400, 100_003
ARRIVALS = {100: (60, 200), 1_000: (20, 500), 5_000: (10, 500), 10_000: (10, 500), 20_000: (10, 500), 50_000: (10, 500)}
CONNECTIONS_OF_ARRIVALS = 256
SATURATION_RUNS = 40
BEYOND = 0.8
"""Load beyond the limit of a client that does not have all of its CPU, as a share of the highest valid rate. A server with a CPU of its own
can serve it. What is too much for a client with a whole CPU is too much for the server, too."""
INSIDE = 0.3
"""Load inside the limit, as a share of the highest valid rate."""
WARMS_MS = (500, 1_000, 2_000, 4_000)
"""How long a cache takes to fill: shorter than, about as long as, and longer than the quick preset's first closed loop."""


@dataclass
class Bench:
    """Binaries, CPUs and directory of all cases."""

    engine: str
    gaps: str
    server_cpu: int
    client_cpu: int
    directory: Path
    capacity_per_s: dict[str, float] = field(default_factory=dict)
    """The highest open-loop rate at which one worker gives valid results, by protocol."""

    def known(self, *options: str) -> Known:
        """A known server on the server's CPU."""
        return Known(self.engine, self.directory, self.server_cpu, *options)

    def load(self, known: Known, protocol: str, *options: str, disturbed: clients.Disturbance = nullcontext) -> clients.Report:
        """Runs the engine on the client's CPU."""
        scheme = {"http": "http", "memcached": "memcache"}[protocol]
        return clients.engine(self.engine, f"{scheme}://{known.address}", self.client_cpu, *options, disturbed=disturbed)

    def percentiles(self, protocol: str, service: str, rate_per_s: float) -> tuple[clients.Report, dict]:
        """Three seconds of load on a server of this service, and the server's own percentiles."""
        # Four connections for each request in service, and some for bursts after a disturbance. No request then waits for a
        # connection, which the server could not observe.
        connections = 256 + round(rate_per_s * MEAN_S[service] * 4)
        with self.known("--log", "--service", service) as known:
            reported = self.load(known, protocol, "-c", str(connections), "-r", f"{rate_per_s:.0f}", "-d", "3s")
            return reported, known.account()["service_time_us"]

    def highest_valid_rate(self, protocol: str, rate_per_s: float) -> float:
        """The highest open-loop rate of which the largest share is valid for every service, from this one down: client and server
        need more of their CPUs for a reply that is late than for one that is sent at once."""
        for _ in range(20):
            if all(self.percentiles(protocol, service, rate_per_s * SHARES[-1])[0].valid for service in SERVICES):
                return rate_per_s
            rate_per_s *= 0.95
        raise BadRun(f"{protocol}: no valid rate of {rate_per_s:.0f}/s or more")


@dataclass(frozen=True)
class Case:
    """One case, with the rows that it adds to a table."""

    table: str
    name: str
    measure: Callable[[Bench], list[Row]]


def all_cases() -> Iterator[Case]:
    """All cases, in the order of their measurement."""
    for number in range(1, ROUNDS + 1):
        for protocol in ("http", "memcached"):
            for share in SHARES:
                for service in SERVICES:
                    yield _percentiles(protocol, share, service, number)
    for peer in clients.PEERS:
        for connections in (16, 128):
            yield _percentiles_of_peer(peer, connections)
    for connections in (1, 10, 100, 1_000):
        yield _freeze(connections, "itself")
    yield _freeze(10, "SIGSTOP")
    for peer in clients.PEERS:
        yield _freeze_of_peer(peer, None)
        if clients.has_rate(peer):
            yield _freeze_of_peer(peer, RATE)
    for protocol in ("http", "memcached"):
        for what, options in (("clean", ()), ("errors", (f"--errs-every={ERRS_EVERY}",)),
                              ("drops", (f"--drops-every={DROPS_EVERY}",))):  # fmt: skip
            yield _counts(protocol, what, options)
    for peer in clients.PEERS:
        yield _counts_of_peer(peer)
    for rate in ARRIVALS:
        yield _arrivals(rate, "poisson")
    for rate in (1_000, 10_000):
        yield _arrivals(rate, "constant")
    for number in range(SATURATION_RUNS):
        yield _saturation("beyond", number)
        yield _saturation("inside", number)
    for warms_ms in WARMS_MS:
        yield _steady(warms_ms)


def _percentiles(protocol: str, share: float, service: str, number: int) -> Case:
    name = f"showdown {protocol} {service} at {share:.0%}, round {number}"

    def measure(bench: Bench) -> list[Row]:
        rate = bench.capacity_per_s[protocol] * share
        reported, true = bench.percentiles(protocol, service, rate)
        shape = {"client": "showdown", "round": number, "protocol": protocol, "service": service, "share": share, "rate_per_s": rate}
        verdict = {"valid": reported.valid, "reasons": reported.reasons}
        # The server's time is the response time without the client's late sends, which the server cannot see.
        server = reported.extra["server_time_us"]
        late = {q: getattr(reported, q) - server[q] for q in QUANTILES}
        return [
            {**shape, "quantile": q, "true_us": true[q], "reported_us": server[q], "client_us": late[q], **verdict} for q in QUANTILES
        ]

    return Case("percentiles", name, measure)


def _percentiles_of_peer(peer: str, connections: int) -> Case:
    service = "exponential:2ms"
    name = f"{peer} {service}, closed loop of {connections}"

    def measure(bench: Bench) -> list[Row]:
        with bench.known("--log", "--service", service) as known:
            reported = clients.peer(peer, known.address, bench.client_cpu, connections, 5)
            account = known.account()
        true = account["service_time_us"]
        shape = {"client": peer, "round": 1, "protocol": "http", "service": service, "share": f"{connections} connections"}
        rate = {"rate_per_s": account["replies"] / 5}
        return [
            {**shape, **rate, "quantile": q, "true_us": true[q], "reported_us": getattr(reported, q), "client_us": "", "valid": "", "reasons": ""}
            for q in QUANTILES
        ]

    return Case("percentiles", name, measure)


def frozen_us(quantile: float, load: float) -> float:
    """The response time that this share of requests does not exceed."""
    return max(0.0, FREEZE_S - (1 - quantile) * (1 - load) * PERIOD_S) * 1e6


def _freeze_rows(client: str, how: str, connections: int, load: float, reported: clients.Report) -> list[Row]:
    points = (("p95", 0.95, reported.p95), ("p99", 0.99, reported.p99), ("max", 1.0, reported.longest))
    shape = {"client": client, "how": how, "connections": connections, "requests": reported.requests}
    return [{**shape, "quantile": q, "arithmetic_us": frozen_us(share, load), "reported_us": us} for q, share, us in points]


def _freeze(connections: int, how: str) -> Case:
    def measure(bench: Bench) -> list[Row]:
        with bench.known() as known:
            closed = bench.load(known, "http", "-c", str(connections), "-d", "1s")
        # The share of a second that this server needs for the requests of a second, on these connections.
        load = RATE / closed.extra["throughput_per_s"]
        seconds = int(PERIOD_S * PERIODS)
        even = ("-c", str(connections), "-r", str(RATE), "--arrivals", "constant", "-d", f"{seconds}s")
        if how == "itself":
            with bench.known(f"--freeze={FREEZE_S:.0f}s/{PERIOD_S:.0f}s") as known:
                reported = bench.load(known, "http", *even)
        else:
            with bench.known() as known:
                freezer = known.freeze_from_outside(FREEZE_S, PERIOD_S, PERIODS)
                reported = bench.load(known, "http", *even)
                freezer.join()
        return _freeze_rows("showdown", how, connections, load, reported)

    return Case("freeze", f"showdown, {plural(connections, 'connection')}, frozen by {how}", measure)


def _freeze_of_peer(peer: str, rate: int | None) -> Case:
    connections = 100
    loop = "closed loop" if rate is None else f"at {rate:,}/s"

    def measure(bench: Bench) -> list[Row]:
        with bench.known(f"--freeze={FREEZE_S:.0f}s/{PERIOD_S:.0f}s") as known:
            reported = clients.peer(peer, known.address, bench.client_cpu, connections, int(PERIOD_S * PERIODS), rate)
        return _freeze_rows(peer, loop, connections, 0.0, reported)

    return Case("freeze", f"{peer}, {plural(connections, 'connection')}, {loop}", measure)


def _counts(protocol: str, what: str, options: tuple[str, ...]) -> Case:
    def measure(bench: Bench) -> list[Row]:
        with bench.known(*options) as known:
            reported = bench.load(known, protocol, "-c", "64", "-n", str(REQUESTS))
            account = known.account()
        rows = [{"what": f"{protocol}, {what}: replies", "server_count": account["replies"], "client_count": reported.requests}]
        if what != "clean":
            bad = account["errors"] + account["dropped"]
            rows.append({"what": f"{protocol}, {what}: failures", "server_count": bad, "client_count": reported.failed})
        return [{"client": "showdown", **row} for row in rows]

    return Case("counts", f"showdown {protocol} {what}", measure)


def _counts_of_peer(peer: str) -> Case:
    def measure(bench: Bench) -> list[Row]:
        with bench.known() as known:
            reported = clients.peer(peer, known.address, bench.client_cpu, 64, 3)
            account = known.account()
        return [{"client": peer, "what": "http, 3 s: replies", "server_count": account["replies"], "client_count": reported.requests}]

    return Case("counts", peer, measure)


def _arrivals(rate: int, kind: str) -> Case:
    def measure(bench: Bench) -> list[Row]:
        seconds, window = ARRIVALS[rate]
        with bench.known("--log") as known:
            options = ("-c", str(CONNECTIONS_OF_ARRIVALS), "-r", str(rate), "--arrivals", kind, "-d", f"{seconds}s")
            reported = bench.load(known, "http", *options)
            log = known.log()
        tested = subprocess.run([bench.gaps, str(rate), str(window)], input=log, capture_output=True, text=True, check=True)
        lag = reported.extra["client"]["lag_us"]
        late = {"lag_p50_us": lag["p50"], "lag_p99_us": lag["p99"]}
        return [{"rate_per_s": rate, "kind": kind, **json.loads(tested.stdout), **late}]

    return Case("arrivals", f"{kind} at {rate}/s", measure)


def _saturation(side: str, number: int) -> Case:
    protocol = ("http", "memcached")[number % 2]
    # Half of the clients beyond the limit are stopped now and then, and half share their CPU with another program.
    shares_cpu = number % 4 >= 2

    def measure(bench: Bench) -> list[Row]:
        highest = bench.capacity_per_s[protocol]
        if side == "inside":
            rate, how, disturbed = INSIDE * highest, f"{INSIDE:.0%} of the highest valid rate", nullcontext
        elif shares_cpu:
            rate, how = BEYOND * highest, f"{BEYOND:.0%} of that rate, with another program on its CPU"
            disturbed = lambda _: disturbances.busy_program(bench.client_cpu)  # noqa: E731
        else:
            rate, how, disturbed = BEYOND * highest, f"{BEYOND:.0%} of that rate, stopped for {disturbances.STOPS}", disturbances.stops
        with bench.known("--service", "fixed:2ms") as known:
            shape = ("-c", "1024", "-r", f"{rate:.0f}", "-d", "2s", "--warmup", "200ms")
            reported = bench.load(known, protocol, *shape, disturbed=disturbed)
        utilisation = reported.extra["client"]["utilisation"]
        return [{"side": side, "how": how, "rate_per_s": rate, "client_utilisation": utilisation, "valid": reported.valid, "reasons": reported.reasons}]

    return Case("saturation", f"{side} {number + 1}", measure)


def _steady(warms_ms: int) -> Case:
    """The warm-up of a comparison, against a server whose cache fills in a given time."""
    workload = Path(__file__).parent / "known/workload.toml"

    def measure(bench: Bench) -> list[Row]:
        variant = f"known:work_us=0,service_time_us=2000,warms_ms={warms_ms},miss_us=8000"
        with tempfile.TemporaryDirectory(prefix="showdown-truth-") as runs:
            argv = [bench.engine, "compare", "-w", str(workload), variant, "known:work_us=0,service_time_us=2000"]
            argv += ["--quick", "--blocks", "3", "--measure", "throughput", "--connections", "16", "--seed", "1"]
            argv += ["--runs", runs, "--progress", "none"]
            path = f"{Path(bench.engine).parent}:{os.environ['PATH']}"
            ran = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, "PATH": path}, timeout=400)
            trials = [json.loads(path.read_text()) for path in sorted(Path(runs).glob("*/trials/*/trial.json"))]
        rows = steady_rows(trials, warms_ms)
        if not rows:
            raise BadRun(f"the comparison has no trials: {(ran.stderr or ran.stdout).strip()[-300:]}")
        return rows

    return Case("steady", f"a cache that fills in {warms_ms / 1000:g} s", measure)


def steady_rows(trials: list[dict], warms_ms: int) -> list[Row]:
    """The warm-up of each trial with the cache, and its throughput beside the median of a server that is warm at once."""
    value = lambda trial: (trial.get("measured") or {}).get("value")  # noqa: E731
    is_cache = lambda trial: f"warms_ms={warms_ms}" in trial["variant"]  # noqa: E731
    warm = [value(trial) for trial in trials if not is_cache(trial) and value(trial)]
    return [
        {
            "warms_s": warms_ms / 1000,
            "discarded_s": trial["warm_up"]["discarded_s"],
            "warm_per_s": median(warm) if warm else "",
            "measured_per_s": value(trial) or "",
            "valid": trial["status"] == "valid",
        }
        for trial in trials
        if is_cache(trial) and trial.get("warm_up")
    ]
