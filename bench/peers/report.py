"""Rows to Markdown: docs/results/peers.md, with the raw figures beside it."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path

from .clients import CLIENTS, ENGINE, FLOOR, HTTP, MEMCACHED, TLS, Task
from .figures import FLOOR_OF_MEMCACHED, H2LOAD_TLS, REFERENCE_ALL, WRK, Entry, Figures
from .markdown import bars_table, show_figure, table, verdict
from .store import Store

METHODS = {
    "hardware counters": "Cycles are counted by the hardware (`perf stat -e cycles:u,cycles:k` on the client).",
    "sampling": (
        "**This machine has no hardware counters: cycles are estimates.** The client's CPU is sampled with its clock"
        " 15,000 times a second (`perf record -e cpu-clock`), and samples are told apart by address: user or kernel; those"
        " right behind a `syscall` instruction count as the kernel's, which leaves a system call with interrupts off."
        " User cycles = user share of the client's samples × the client's CPU time (schedstat) × cycles in a second"
        " of CPU time. The last is measured right before and right after each run, on the same CPU and under the same"
        " sampler, by a chain of dependent instructions of known latency (`floor clock`). An error of it, or of a"
        " kernel that serves this machine more slowly for a while, is common to all clients of a round: the ratios to"
        " wrk and to the floor are steadier than the cycles."
    ),
}


def write(store: Store, results: Path) -> None:
    """Writes the page and copies the raw figures."""
    store.publish(results / "peers")
    (results / "peers.md").write_text(page(store))


def page(store: Store) -> str:
    """The whole page."""
    figures, settings = Figures(store), store.settings()
    busy = "" if settings["noise"] == "refused" else "\n**Measured on a busy machine: these figures do not count.**\n"
    return f"""# Engine and peers

{verdict(figures.bars())} Measured by `make bench-peers` on {settings["date"]}: {settings["rounds"]} rounds, in each
every client once in random order; medians, with the least and the most in brackets. `bench/README.md` says how it is
measured and what can mislead; the raw figures are in `peers/`. {_discarded(store)}
{busy}
## The bars

{bars_table(figures.bars())}

## HTTP/1.1: nginx, a file of 1 KiB, {settings["connections"]} connections, closed loop

{_http(figures)}

"Where the bars were set" is the ratio to wrk times what wrk costs on that machine by hardware counters: 2,600 user
cycles of 34,900 altogether. The engine checks status, length and a substring of every reply here; the peers count statuses, and
ab lengths.

## memcached: gets of 1,024 bytes, {settings["connections"]} connections, closed loop

{_memcached(figures)}

"Where the bars were set" is the ratio of user cycles to wrk's in the same round times 2,600, of the ratio of all cycles
to the floor's times 7,150. The engine holds every value against what was stored. memcaslap pins itself to CPU 0, so for
its turn the server moves to the other.

## TLS 1.3: nginx, the same file, {settings["connections"]} connections, closed loop

{_tls(figures)}

## System calls a request

{_syscalls(figures)}

At full speed it depends on who waits for whom: a server that is slower than the client lets replies come one at a time,
and each costs a wait, a receive and a send. strace slows the client, so that one wait finds many replies.

## Open loop: {_lag_title(store)}

{_lag(store)}

## Memory

{_memory(figures)}

Resident memory of the client. The engine's connections have each done a request and wait; wrk's go on all the time.

## Method and machine

{METHODS[settings["method"]]}
{_clock(figures)}
{_facts(settings)}

Commands, the server on one CPU and the client on another:

```sh
{_commands(settings)}
```
"""


def _discarded(store: Store) -> str:
    number = store.discarded()
    return f"{number} runs were discarded and repeated, each with its reason in `peers/discarded.csv`." if number else ""


def _http(figures: Figures) -> str:
    floor = (HTTP, FLOOR)
    return _costs(
        figures, HTTP, [("user, × wrk", WRK, "user_cycles"), ("all, × wrk", WRK, "all_cycles"),
                        ("all, × floor", floor, "all_cycles")],
    )  # fmt: skip


def _memcached(figures: Figures) -> str:
    floor = FLOOR_OF_MEMCACHED
    return _costs(
        figures, MEMCACHED, [("user, × wrk's", WRK, "user_cycles"), ("user, × floor", floor, "user_cycles"),
                             ("all, × floor", floor, "all_cycles")],
    )  # fmt: skip


def _tls(figures: Figures) -> str:
    return _costs(figures, TLS, [("throughput, × h2load", H2LOAD_TLS, "requests_per_s")])


def _costs(figures: Figures, protocol: str, ratios: list[tuple[str, Entry, str]]) -> str:
    """Cycles, ratios and speeds of all clients of a protocol."""
    has_reference = protocol in REFERENCE_ALL
    head = ["client", "user cycles", "all cycles", *(title for title, _, _ in ratios)]
    head += ["where the bars were set", "requests/s", "client CPU"] if has_reference else ["requests/s", "client CPU"]
    rows = []
    for client in (client.name for client in CLIENTS if client.protocol == protocol):
        entry = (protocol, client)
        user, everything, speed, cpu = (
            figures.figure("cycles", *entry, column)
            for column in ("user_cycles", "all_cycles", "requests_per_s", "client_cpu")
        )
        row = [client, show_figure(user), show_figure(everything)]
        row += [show_figure(figures.ratio(entry, yardstick, column), 2) for _, yardstick, column in ratios]
        if has_reference:
            there = figures.at_reference(entry)
            row.append(f"{there[0]:,.0f} of {there[1]:,.0f}" if there else "–")
        rows.append([*row, show_figure(speed), f"{cpu.middle:.0%}" if cpu else "–"])
    return table(head, rows)


def _syscalls(figures: Figures) -> str:
    def show(protocol: str, client: str, column: str) -> str:
        return show_figure(figures.figure("syscalls", protocol, client, column), 2)

    return table(
        ["protocol", "client", "at full speed", "under strace -c"],
        [
            [c.protocol, c.name, show(c.protocol, c.name, "syscalls"), show(c.protocol, c.name, "strace_syscalls")]
            for c in CLIENTS
            if c.protocol != TLS
        ],
    )


def _lag_title(store: Store) -> str:
    rows = store.rows("lag")
    return f"{int(rows[0]['rate']):,} requests/s on one thread, how late each was sent" if rows else "not measured"


def _lag(store: Store) -> str:
    columns = {
        "round": "run",
        "achieved_per_s": "requests/s",
        "lag_p50_us": "lag p50, µs",
        "lag_p99_us": "lag p99, µs",
        "lag_max_us": "lag max, µs",
        "response_time_p50_us": "response p50, µs",
        "response_p99_us": "response p99, µs",
        "valid": "called valid",
    }
    return table(list(columns.values()), [[row[name] for name in columns] for row in store.rows("lag")])


def _memory(figures: Figures) -> str:
    return table(
        ["client", "bytes a connection, of all it holds", "bytes a connection, over what it holds with one"],
        [
            [client, *(show_figure(figures.memory_per_connection(client, over_one), 0) for over_one in (False, True))]
            for client in (ENGINE, "wrk")
        ],
    )


def _clock(figures: Figures) -> str:
    clock = figures.clock_hz()
    return f"\nCycles in a second of CPU time: {show_figure(clock.scaled(1e-9), 2)} × 10⁹.\n" if clock else ""


def _facts(settings: dict[str, object]) -> str:
    shown = [[name, str(value)] for name, value in settings.items() if name not in ("rounds", "connections", "noise")]
    return table(["", ""], shown)


def _commands(settings: dict[str, object]) -> str:
    with tempfile.TemporaryDirectory() as directory:
        lines = []
        for client in CLIENTS:
            task = Task("ADDRESS", int(settings["connections"]), 4, Path(directory), {ENGINE: ENGINE, FLOOR: FLOOR})
            line = shlex.join(client.argv(task)).replace(f"{directory}/", "")
            lines.append(f"{line}  # {client.protocol}")
        return "\n".join(lines)
