"""Rows to Markdown: docs/results/peers.md, with the raw figures beside it."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path

from shared.markdown import BUSY, bars_table, facts_table, plural, share, shell, show_figure, table, verdict
from shared.showdown import ENGINE
from shared.store import Store

from .clients import FLOOR, HTTP, MEMCACHED, OPTIONAL, TLS, Client, Task, named
from .figures import FLOOR_OF_MEMCACHED, H2LOAD_TLS, REFERENCE_ALL, WRK, Entry, Figures
from .tables import store as tables

METHODS = {
    "hardware counters": "Hardware counters count the cycles (`perf stat -e cycles:u,cycles:k` on the client).",
    "sampling": """**This machine has no hardware counters: cycles are estimates.**

- `perf record -e cpu-clock` samples the client's CPU 15,000 times per second. The address of a sample gives its mode: user or
  kernel. A sample right behind a `syscall` instruction counts as the kernel's, because the kernel leaves a system call with
  interrupts off.
- User cycles = user share of the client's samples × the client's CPU time (schedstat) × cycles in a second of CPU time.
- `floor clock` measures the cycles in a second: a chain of dependent instructions of known latency, on the same CPU and under
  the same sampler, right before and right after each run.
- An error of this clock affects all clients of a round alike, so the ratios to wrk and to the floor vary less than the
  cycles.""",
}


def write(results: Path) -> None:
    """Writes the page from its raw figures."""
    (results / "peers.md").write_text(page(tables(results / "peers")))


def page(store: Store) -> str:
    """The whole page."""
    figures, settings = Figures(store), store.settings()
    clients = named(name for name in OPTIONAL if name in str(settings.get("peers", "")))
    busy = "" if settings["noise"] == "refused" else BUSY
    return f"""# Engine and peers

{verdict(figures.bars())}

Measured by `make bench-peers` on {settings["date"]}, in {plural(settings["rounds"], "round")}. Each round runs every client once, in
random order. Figures are medians; minimum and maximum are in brackets. The raw figures are in `peers/`. `bench/README.md`
describes the method and what can mislead. [GLOSSARY](../GLOSSARY.md) explains the terms.{_discarded(store)}
{busy}
## Bars

{bars_table(figures.bars())}

## HTTP/1.1: nginx, a file of 1 KiB, {settings["connections"]} connections, closed loop

{_http(figures, clients)}

- Columns of cycles and of CPU time are per request. A client that has a CPU for itself spins instead of sleeping: CPU time without
  spinning, and all ratios and bars of all cycles, leave that out. User cycles contain those of spinning.
- "On the reference machine" is the ratio to wrk, times wrk's cost on the machine where the bars were set, by hardware
  counters: 2,600 user cycles, and 34,900 cycles in all.
- The engine checks status, length and a substring of every reply. The peers count statuses; ab also checks lengths.

## memcached: gets of 1,024 bytes, {settings["connections"]} connections, closed loop

{_memcached(figures, clients)}

- "On the reference machine" is, for user cycles, the ratio to wrk in the same round times 2,600, and for all cycles the ratio
  to the floor times 7,150.
- The engine compares every value with the stored one.
- memcaslap pins itself to CPU 0, so the server moves to the other CPU while memcaslap runs.

## TLS 1.3: nginx, the same file, {settings["connections"]} connections, closed loop

{_tls(figures, clients)}

## System calls per request

{_syscalls(figures, clients)}

At full speed the number depends on which side waits: if the server is slower than the client, replies come one at a time, and
each costs a wait, a receive and a send. strace slows the client down, so that one wait returns many replies.

## Open loop: {_lag_title(store)}

{_lag(store)}

{_paced(figures, clients)}## Memory

{_memory(figures)}

Resident memory of the client. Each of the engine's connections has done one request and waits. wrk's connections stay busy.

## Method and machine

{METHODS[settings["method"]]}
{_clock(figures)}
{facts_table(settings, without=("rounds", "connections", "noise"))}

Commands, with the server on one CPU and the client on another:

{shell(_commands(settings, clients))}
"""


def _discarded(store: Store) -> str:
    number = store.discarded()
    if number == 0:
        return ""
    were = "run was" if number == 1 else "runs were"
    return f"\n{number} {were} discarded and repeated; `peers/discarded.csv` has the reasons."


def _http(figures: Figures, clients: list[Client]) -> str:
    floor = (HTTP, FLOOR)
    return _costs(
        figures, clients, HTTP, [("user, × wrk", WRK, "user_cycles"), ("all, × wrk", WRK, "work_all_cycles"),
                                 ("all, × floor", floor, "work_all_cycles")],
    )  # fmt: skip


def _memcached(figures: Figures, clients: list[Client]) -> str:
    floor = FLOOR_OF_MEMCACHED
    return _costs(
        figures, clients, MEMCACHED, [("user, × wrk", WRK, "user_cycles"), ("user, × floor", floor, "user_cycles"),
                                      ("all, × floor", floor, "work_all_cycles")],
    )  # fmt: skip


def _tls(figures: Figures, clients: list[Client]) -> str:
    return _costs(figures, clients, TLS, [("throughput, × h2load", H2LOAD_TLS, "requests_per_s")])


def _costs(figures: Figures, clients: list[Client], protocol: str, ratios: list[tuple[str, Entry, str]]) -> str:
    """Cycles, ratios and throughput of all clients of a protocol."""
    has_reference = protocol in REFERENCE_ALL
    head = ["client", "user cycles", "all cycles", "CPU time, µs", "without spinning, µs", *(title for title, _, _ in ratios)]
    head += ["on the reference machine", "requests/s", "client CPU"] if has_reference else ["requests/s", "client CPU"]
    rows = []
    for client in (client.name for client in clients if client.protocol == protocol):
        entry = (protocol, client)
        user, everything, speed, cpu = (
            figures.figure("cycles", *entry, column)
            for column in ("user_cycles", "all_cycles", "requests_per_s", "client_cpu")
        )
        row = [client, show_figure(user), show_figure(everything)]
        row += [show_figure(figures.figure("cycles", *entry, column), 2) for column in ("cpu_us", "work_cpu_us")]
        row += [show_figure(figures.ratio(entry, yardstick, column), 2) for _, yardstick, column in ratios]
        if has_reference:
            there = figures.at_reference(entry)
            row.append(f"{there[0]:,.0f} of {there[1]:,.0f}" if there else "–")
        rows.append([*row, show_figure(speed), share(cpu and cpu.middle)])
    return table(head, rows)


def _syscalls(figures: Figures, clients: list[Client]) -> str:
    def show(protocol: str, client: str, column: str) -> str:
        return show_figure(figures.figure("syscalls", protocol, client, column), 2)

    return table(
        ["protocol", "client", "at full speed", "under strace -c"],
        [
            [c.protocol, c.name, show(c.protocol, c.name, "syscalls"), show(c.protocol, c.name, "strace_syscalls")]
            for c in clients
            if c.protocol != TLS
        ],
    )


def _lag_title(store: Store) -> str:
    rows = store.rows("lag")
    return f"{int(rows[0]['rate']):,} requests/s on one thread, lag of each" if rows else "not measured"


def _lag(store: Store) -> str:
    columns = {
        "round": "run",
        "achieved_per_s": "requests/s",
        "lag_p50_us": "lag p50, µs",
        "lag_p99_us": "lag p99, µs",
        "lag_max_us": "lag max, µs",
        "response_time_p50_us": "response time p50, µs",
        "response_time_p99_us": "response time p99, µs",
        "valid": "valid",
    }
    return table(list(columns.values()), [[_shown(row[name]) for name in columns] for row in store.rows("lag")])


def _paced(figures: Figures, clients: list[Client]) -> str:
    """CPU time at a rate, where a peer has such a mode."""
    entries = [(client.protocol, client.name) for client in clients if client.paced]
    measured = [entry for entry in entries if figures.figure("paced", *entry, "rate")]
    if not measured:
        return ""
    rate = figures.figure("paced", *measured[0], "rate").middle
    rows = [
        [
            name,
            show_figure(figures.figure("paced", protocol, name, "achieved_per_s")),
            *(show_figure(figures.figure("paced", protocol, name, column), 2) for column in ("cpu_us", "work_cpu_us")),
            *(show_figure(figures.ratio((protocol, name), (HTTP, ENGINE), column, "paced"), 2) for column in ("cpu_us", "work_cpu_us")),
        ]
        for protocol, name in measured
    ]
    head = ["client", "requests/s", "CPU time, µs", "without spinning, µs", f"CPU time, × {ENGINE}", f"without spinning, × {ENGINE}"]
    return f"## Open loop: {rate:,.0f} requests/s on one thread, CPU time of a request\n\n{table(head, rows)}\n\n"


def _shown(value: str) -> str:
    return {"True": "yes", "False": "no"}.get(value, value)


def _memory(figures: Figures) -> str:
    return table(
        ["client", "bytes per connection, of all memory", "bytes per connection, beyond the memory for one"],
        [
            [client, *(show_figure(figures.memory_per_connection(client, over_one), 0) for over_one in (False, True))]
            for client in (ENGINE, "wrk")
        ],
    )


def _clock(figures: Figures) -> str:
    clock = figures.clock_hz()
    return f"\nCycles in a second of CPU time: {show_figure(clock.scaled(1e-9), 2)} × 10⁹.\n" if clock else ""


def _commands(settings: dict[str, object], clients: list[Client]) -> list[str]:
    with tempfile.TemporaryDirectory() as directory:
        lines = []
        binaries = {name: name for name in (ENGINE, FLOOR, *OPTIONAL)}
        for client in clients:
            task = Task("ADDRESS", int(settings["connections"]), 4, Path(directory), binaries)
            line = shlex.join(client.argv(task)).replace(f"{directory}/", "")
            lines.append(f"{line}  # {client.protocol}")
        return lines
