"""The page of live traffic, from its rows: docs/results/live-traffic.md."""

from __future__ import annotations

from shared.figures import Figure, Rows
from shared.markdown import facts_table, plural, shell, show_figure, table
from shared.results import Settings

from . import case
from .faults import FAULTS


def render(rows: Rows, settings: Settings) -> str:
    """The page as Markdown."""
    bad = [row for row in rows if problems(row)]
    lines = [_line(fault, [row for row in rows if row["fault"] == fault]) for fault in FAULTS]
    return f"""# Live traffic

{plural(len(rows), "rollout")} behind a real HAProxy, each with one fault at a random moment of its first step. {_verdict(rows, bad)}

{table(["fault", "rollouts", "s until the candidate takes nothing", "bar", "requests to it after that", "failed for users", "exit codes"], [line for line in lines if line])}

- *Takes nothing*: HAProxy has weight 0 for the candidate, or regards it as down, or does not know it. It is asked every 50 ms.
- Planted faults count from the candidate's first weight, others from the fault. Medians, with minimum and maximum in brackets.
- *Failed for users*: errors that the users count, in all rollouts of the line. Requests that HAProxy sends to another server do not fail.
- After `kill-balancer`, nobody serves: the users' errors are HAProxy's.

{_failures(bad)}{_note(settings)}## Method

{table(["fault", "what happens"], [[f"`{name}`", fault.about] for name, fault in FAULTS.items()])}

- The engine plays the users: {case.RATE} requests a second, open loop, 64 connections. Old, control and candidate are known servers: 2 ms, and 200 ms for
  one request in a hundred.
- One old server of weight 64; the steps are {", ".join(map(str, case.STEPS))}. The health of candidate and control is a page.

## What is not measured here

| bar | state |
|---|---|
| 40 rollouts of equal servers of 10 minutes each | not run |
| late 1 → 2 % at 50 and at 4 requests/s; a leak | simulated in the tests of `crates/traffic`; not run with real servers |
| 40 reloads and kills of HAProxy, in each step | as many as the table says, in the first step |
| mail: 20 rollbacks | mail is not built |
| a ramp of a server with a known capacity | once, by hand: decision [0046](../decisions/0046-live-traffic.md) |

## Where and how

{shell([str(settings.get("commands", "make bench-shift"))])}

{facts_table(settings, without=("commands", "note"))}

The rows are in [cases.csv](live-traffic/cases.csv). A stopped bench continues with the same command.
"""


def problems(row: dict) -> list[str]:
    """What is wrong in a rollout."""
    fault = FAULTS[row["fault"]]
    found = []
    if row["out_s"] == "":
        found.append("the candidate went on taking requests")
    elif float(row["out_s"]) > fault.bar_s:
        found.append(f"after {row['out_s']} s")
    if row["after"] not in ("", "0", 0):
        found.append(f"{plural(int(row['after']), 'request')} after that")
    if row["left"] and any(part.split()[-1] != "0" for part in row["left"].split("; ")) and "DOWN" not in row["left"]:
        found.append(f"left in the balancer: {row['left']}")
    return found


def _note(settings: Settings) -> str:
    """What a person has added to run.json."""
    return f"{settings['note']}\n\n" if "note" in settings else ""


def _verdict(rows: Rows, bad: Rows) -> str:
    if not rows:
        return ""
    return f"{len(rows) - len(bad)} of them keep their bars." if bad else "All of them keep their bars."


def _line(fault: str, rows: Rows) -> list[str] | None:
    if not rows:
        return None
    out = Figure.of([float(row["out_s"]) for row in rows if row["out_s"] != ""])
    codes = sorted({int(row["exit"]) for row in rows})
    counted = [f"{code} ({sum(1 for row in rows if int(row['exit']) == code)})" for code in codes]
    after = sum(int(row["after"] or 0) for row in rows)
    users = f"{sum(int(row['failed']) for row in rows):,} of {sum(int(row['users']) for row in rows):,}"
    return [f"`{fault}`", str(len(rows)), show_figure(out, 2), f"≤ {FAULTS[fault].bar_s:g} s", str(after), users, ", ".join(counted)]


def _failures(bad: Rows) -> str:
    if not bad:
        return ""
    rows = [[f"`{row['fault']}`", row["repeat"], "; ".join(problems(row)), row["message"]] for row in bad]
    return f"## Bars that were not kept\n\n{table(['fault', 'repeat', 'what was found', 'the answer of the run'], rows)}\n\n"
