"""The parts of the page on saturated clients and on steady state."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from shared.markdown import plural, share
from shared.markdown import table as markdown_table

from .cases import SATURATION_RUNS
from .disturbances import STOPS

Rows = list[dict[str, str]]
MISS = " **miss**"


def table(heads: list[str], rows: list[list[str]]) -> str:
    """A table with numbers to the right."""
    return markdown_table(heads, rows, numbers=True) if rows else "Not measured yet."


def saturation(rows: Callable[[str], Rows]) -> str:
    """Whether the engine recognises that the client was the limit."""
    groups: dict[tuple[str, str], Rows] = {}
    for row in rows("saturation"):
        # The protocols alternate with the number of the case.
        protocol = ("HTTP", "memcached")[(int(row["case"].split()[1]) - 1) % 2]
        groups.setdefault((row["side"], f"{protocol}, {row['how']}"), []).append(row)
    lines, right = [], {"beyond": 0, "inside": 0}
    for (side, how), runs in sorted(groups.items()):
        expected = "invalid" if side == "beyond" else "valid"
        called = sum((row["valid"] == "True") == (expected == "valid") for row in runs)
        right[side] += called
        result = f"{called} called {expected}" + ("" if called == len(runs) else MISS)
        lines.append([f"{side}: {how}", str(len(runs)), result, share(_utilisation(runs))])
    return f"""## A saturated client

**{right["beyond"]} of {_runs(groups, "beyond")} beyond the client's limit are called invalid, and {right["inside"]} of {_runs(groups, "inside")} inside it valid.** The bar is
{SATURATION_RUNS} of {SATURATION_RUNS} on both sides.

- In half of the runs beyond the limit another busy program shares the client's CPU. In the other half the client is stopped for {STOPS},
  as a hypervisor or a quota does. Both times the server has all of its CPU.
- A worker that shares its CPU sees only the time in which it was ready to run and had no CPU (`run_delay` in
  `/proc/thread-self/schedstat`). From 5 % on the engine calls that starved.
{_alarms(rows("saturation"))}
- Client and known server have about the same cost per request, and one CPU each. A load that is too much for the client is also
  too much for the server: with 2.5 times the throughput of a closed loop the server used 97 % of its CPU (median of 8 runs), so which of them was
  the limit was not known. Until 2026-11-27 half of the runs were like that; of the last 20 the engine called 16 invalid.

{table(["the client", "runs", "result", "client CPU"], lines)}"""


def _alarms(rows: Rows) -> str:
    """Whether runs inside the limit that were called invalid had lost CPU time to the hypervisor."""
    inside = [row for row in rows if row["side"] == "inside" and row.get("steal")]
    stolen = [row for row in inside if float(row["steal"])]
    false_of = lambda runs: sum(row["valid"] == "False" for row in runs)  # noqa: E731
    return f"""- The hypervisor took CPU time in {plural(len(stolen), "run")} inside the limit, and {false_of(stolen)} of them are called invalid. Of the other
  {len(inside) - len(stolen)} it is {false_of(inside) - false_of(stolen)}. A client that is stopped for 20 ms of 2 s sends 1 % of its requests late; its lag p99 shows that."""


def _utilisation(runs: Rows) -> float | None:
    """The median utilisation of the client; None in rows that do not have it."""
    values = [float(row["client_utilisation"]) for row in runs if row.get("client_utilisation")]
    return median(values) if values else None


def _runs(groups: dict[tuple[str, str], Rows], side: str) -> str:
    return plural(sum(len(runs) for (of, _), runs in groups.items() if of == side), "run")


def steady(rows: Callable[[str], Rows]) -> str:
    """Whether the warm-up leaves out the filling of a cache."""
    lines, distances = [], []
    for row in rows("steady"):
        warm, measured = row["warm_per_s"], row["measured_per_s"]
        off = float(measured) / float(warm) - 1 if warm and measured else None
        distances += [] if off is None else [abs(off)]
        discarded = f"{float(row['discarded_s']):.1f} s"
        valid = "yes" if row["valid"] == "True" else "no"
        lines.append([f"{float(row['warms_s']):g} s", discarded, "–" if off is None else f"{off:+.2%}", valid])
    middle = f" The median distance is {median(distances):.2%}." if distances else ""
    return f"""## Steady state

Trials of a comparison (`bench/truth/known/workload.toml`) with a server whose cache fills in a known time. The table has the
length of the discarded warm-up, and the distance of the throughput from that of the same server with a full cache (the
median of its trials in the same run).{middle}

{table(["cache fills in", "warm-up", "throughput off by", "valid"], lines)}"""
