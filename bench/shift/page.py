"""The page of live traffic, from its rows: docs/results/live-traffic.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from shared.figures import Figure, Rows
from shared.markdown import facts_table, plural, shell, show_figure, table
from shared.results import Settings

from . import case, nginx, program, series
from .faults import FAULTS
from .series import SERIES

OLD_WEIGHT = 64
MOST_RAMP = 3.0
FOUND_S = 150.0
LAST_STEP = 0.333
"""The candidate's share in the last step of a leak, as it is written."""


def render(tables: dict[str, Rows], earlier: dict[str, Rows], settings: Settings) -> str:
    """The page as Markdown."""
    bars = [bar.row(tables) for bar in BARS]
    bad = [(row["fault"], row, problems(row)) for row in tables["cases"]]
    bad += [(row["series"], row, problems_of_series(row)) for row in tables["series"]]
    bad = [entry for entry in bad if entry[2]]
    lines = [_line(fault, [row for row in tables["cases"] if row["fault"] == fault]) for fault in FAULTS]
    return f"""# Live traffic

{plural(len(tables["cases"]) + len(tables["series"]), "rollout")} behind a real HAProxy. {_verdict(bars)}

{table(["bar", "rollouts", "figure", "result"], bars)}

{_failures(bad)}{_note(settings)}## A fault at a moment

{table(["fault", "rollouts", "s until the candidate takes nothing", "bar", "requests to it after that", "failed for users", "failed ÷ share", "exit codes"], [line for line in lines if line])}

- *Takes nothing*: HAProxy has weight 0 for the candidate, or regards it as down, or does not know it. It is asked every 50 ms.
- Planted faults count from the candidate's first weight, others from the fault. Medians, with minimum and maximum in brackets.
- *Failed for users*: errors that the users count, in all rollouts of the line. Requests that HAProxy sends to another server do not fail.
- *Failed ÷ share*: failed for users, divided by the requests that are the candidate's share of the traffic until it takes nothing. At most 1: users
  see at most the candidate's share of the fault. Only for faults of the candidate; the median, with the largest in brackets.
- After `kill-balancer`, nobody serves: the users' errors are HAProxy's.

{table(["fault", "what happens"], [[f"`{name}`", fault.about + ("; in the first and in the second step in turn" if fault.in_each_step else "")] for name, fault in FAULTS.items()])}

- The engine plays the users: {case.RATE} requests a second, open loop, 64 connections. Old, control and candidate are known servers: 2 ms, and 200 ms for
  one request in a hundred.
- One old server of weight 64; the steps are {", ".join(map(str, case.STEPS))}. The health of candidate and control is a page.

## Series

{_series(tables["series"])}

{_mail(tables["series"])}{_simulated(tables["simulated"])}## Which program

{_programs(tables, "No row yet.")}
{_earlier(earlier)}## Where and how

{shell([str(command) for command in settings.get("commands", ["make bench-shift"])])}

{facts_table(settings, without=("commands", "note"))}

The rows are in [live-traffic](live-traffic), a file for each of faults, series and simulated rollouts. A stopped bench continues with the same command.
"""


@dataclass(frozen=True)
class PageBar:
    """A bar of the page."""

    about: str
    count: int
    """How many rollouts the bar asks for."""
    rows: Callable[[dict[str, Rows]], Rows]
    figure: Callable[[Rows], str]
    is_met: Callable[[Rows], bool]

    def row(self, tables: dict[str, Rows]) -> list[str]:
        """Its line in the table."""
        rows = self.rows(tables)
        if not rows:
            return [self.about, f"0 of {self.count:,}", "–", "not measured"]
        count = int(rows[0].get("rollouts", len(rows)))
        result = "**not kept**" if not self.is_met(rows) else "kept" if count >= self.count else "kept so far"
        return [self.about, f"{count:,} of {self.count:,}", self.figure(rows), result]


def _of(name: str) -> Callable[[dict[str, Rows]], Rows]:
    return lambda tables: [row for row in tables["series"] if row["series"] == name]


def _faults(*names: str) -> Callable[[dict[str, Rows]], Rows]:
    return lambda tables: [row for row in tables["cases"] if row["fault"] in names]


def _simulation(*cases: str) -> Callable[[dict[str, Rows]], Rows]:
    return lambda tables: [row for row in tables["simulated"] if row["case"] in cases]


def _are_well(rows: Rows) -> bool:
    return not any(problems(row) if "fault" in row else problems_of_series(row) for row in rows)


def _slowest(rows: Rows) -> str:
    figure = Figure.of([float(row["out_s"]) for row in rows if row["out_s"] != ""])
    after = sum(int(row["after"] or 0) for row in rows)
    return f"{show_figure(figure, 2)} s; {plural(after, 'request')} after that"


def _rolled_back(rows: Rows) -> int:
    if rows and "rolled_back" in rows[0]:
        return max(int(row["rolled_back"]) for row in rows)
    return sum(1 for row in rows if row["status"] == "rolled_back")


def _sum(rows: Rows, column: str) -> int:
    return sum(int(row[column]) for row in rows)


def _found(rows: Rows) -> Figure | None:
    return Figure.of([float(row["after_s"]) for row in rows if row["status"] == "rolled_back"])


def _in_median(rows: Rows, most_s: float) -> bool:
    found = _found(rows)
    return found is not None and found.middle <= most_s and _are_well(rows)


BARS = [
    PageBar(
        "simulated rollouts of equal servers with stalls: ≤ 1 % rolled back",
        1000,
        _simulation("equal, 1 % late, stalls"),
        lambda rows: f"{_rolled_back(rows)} rolled back",
        lambda rows: _rolled_back(rows) <= 0.01 * int(rows[0]["rollouts"]),
    ),
    PageBar(
        "real rollouts of equal servers with stalls, 10 minutes each: ≤ 2 rolled back",
        40,
        _of("equal"),
        lambda rows: f"{_rolled_back(rows)} rolled back",
        lambda rows: _rolled_back(rows) <= 2,
    ),
    PageBar(
        "late 1 → 2 % at 50 requests/s: found in ≤ 150 s (median)",
        SERIES["late"].count,
        _of("late"),
        lambda rows: f"{_rolled_back(rows)} found; {show_figure(_found(rows))} s",
        lambda rows: _in_median(rows, FOUND_S),
    ),
    PageBar(
        "simulated, late 1 → 2 % at 4 requests/s: found in ≤ 25 minutes (median)",
        1000,
        _simulation("2 % against 1 %, 4 requests/s"),
        lambda rows: f"{rows[0]['rolled_back']} found; {rows[0]['median_s']} s",
        lambda rows: float(rows[0]["median_s"] or "inf") <= 25 * 60,
    ),
    PageBar(
        "the same: ≤ 60 extra late requests until then (median)",
        1000,
        lambda tables: [row for row in _simulation("2 % against 1 %, 4 requests/s")(tables) if row.get("extra_late")],
        lambda rows: f"{rows[0]['extra_late']} more than the control",
        lambda rows: int(rows[0]["extra_late"]) <= 60,
    ),
    PageBar(
        "5 % of errors, resets, crash, hang with and without a health page: nothing at the candidate after ≤ 3 s",
        5,
        _faults("errors", "resets", "crash", "hang", "hang-no-health"),
        _slowest,
        _are_well,
    ),
    PageBar(
        "errors, resets, crash, hang: users see at most the candidate's share of it",
        5,
        lambda tables: [row for row in tables["cases"] if of_share(row) is not None],
        lambda rows: f"{max(of_share(row) or 0 for row in rows):.2f} of the share at most",
        lambda rows: all((of_share(row) or 0) <= 1 for row in rows),
    ),
    PageBar(
        "a leak that shows after 8 of 10 minutes: rolled back before the last step",
        SERIES["leak"].count,
        _of("leak"),
        lambda rows: f"{_rolled_back(rows)} rolled back; {show_figure(_found(rows))} s",
        _are_well,
    ),
    PageBar(
        "nginx: a good candidate is no worse, one with 5 % of errors is rolled back",
        SERIES["nginx"].count,
        _of("nginx"),
        lambda rows: f"{sum(1 for row in rows if row['status'] == 'no_worse')} no worse, {_rolled_back(rows)} rolled back",
        _are_well,
    ),
    PageBar(
        "SIGKILL of Showdown, of the process of the lease, of both: nothing after ≤ 3 s",
        3,
        _faults("kill-run", "kill-lease", "kill-both"),
        _slowest,
        _are_well,
    ),
    PageBar("kill or reload of HAProxy in each step: no traffic of the candidate after it", 40, _faults("reload", "kill-balancer"), _slowest, _are_well),
    PageBar(
        "mail, rollbacks: each accepted message is delivered exactly once",
        SERIES["mail"].count,
        _of("mail"),
        lambda rows: f"{_sum(rows, 'accepted'):,} accepted; {_sum(rows, 'lost')} lost, {_sum(rows, 'twice')} twice, {plural(_sum(rows, 'cut'), 'session')} cut",
        _are_well,
    ),
    PageBar(
        f"a ramp of a server that carries {series.RAMP_CAPACITY} ×: 2 or 2.5 ×, breach at 3 ×",
        SERIES["ramp"].count,
        _of("ramp"),
        lambda rows: "carried " + ", ".join(sorted({f"{float(row['carried'] or 0):g} ×" for row in rows})),
        _are_well,
    ),
]


def problems(row: dict) -> list[str]:
    """What is wrong in a rollout with a fault."""
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
    # An empty message is of a row before the last line of the run was written down.
    if fault.answers and (not row["message"] or str(row["message"]).startswith(case.NO_ANSWER)):
        found.append("no answer")
    share = of_share(row)
    if share is not None and share > 1:
        found.append(f"users saw {share:.2f} times the candidate's share")
    return found


def of_share(row: dict) -> float | None:
    """Failed for users, in requests that are the candidate's share until it took nothing. None where the fault is not the candidate's."""
    if not FAULTS[row["fault"]].at_its_share or row["out_s"] == "":
        return None
    step = int(row["step"])
    requests = case.RATE * step / (2 * step + OLD_WEIGHT) * max(float(row["out_s"]), case.LEAST_OUT_S)
    return int(row["failed"]) / requests


def problems_of_series(row: dict) -> list[str]:
    """What is wrong in a rollout of a series."""
    name, status = row["series"], row["status"]
    found = [f"left in the balancer: {row['left']}"] if row["left"] else []
    if name == "equal" and status not in ("no_worse", "not_shown"):
        found.append(str(status or f"exit {row['exit']}"))
    if name in ("late", "leak", "mail") and status != "rolled_back":
        found.append(f"not rolled back: {status or row['exit']}")
    if name == "leak" and float(row["share"] or 1) >= LAST_STEP:
        found.append("only in the last step")
    if name == "nginx" and status != ("no_worse" if nginx.candidate_of(int(row["repeat"])) == nginx.GOOD else "rolled_back"):
        found.append(str(status or f"exit {row['exit']}"))
    if name == "ramp" and (status != "carried" or float(row["carried"] or 0) not in (2.0, 2.5)):
        found.append(f"carried {row['carried'] or 'nothing'}")
    if name == "mail":
        found += [f"{row[column]} {words}" for column, words in [("lost", "lost"), ("twice", "twice"), ("cut", "cut")] if int(row[column])]
    return found


def _note(settings: Settings) -> str:
    """What a person has added to run.json."""
    return f"{settings['note']}\n\n" if "note" in settings else ""


def _verdict(bars: list[list[str]]) -> str:
    counted = [(sum(1 for bar in bars if bar[3] == result), words) for result, words in RESULTS]
    return f"Of {plural(len(bars), 'bar')}: " + "; ".join(f"{words}: {count}" for count, words in counted if count) + "."


RESULTS = [
    ("kept", "kept"),
    ("kept so far", "kept by fewer rollouts than the bar asks for"),
    ("**not kept**", "not kept"),
    ("not measured", "not measured"),
]


def _line(fault: str, rows: Rows) -> list[str] | None:
    if not rows:
        return None
    out = Figure.of([float(row["out_s"]) for row in rows if row["out_s"] != ""])
    codes = sorted({int(row["exit"]) for row in rows})
    counted = [f"{code} ({sum(1 for row in rows if int(row['exit']) == code)})" for code in codes]
    after = sum(int(row["after"] or 0) for row in rows)
    users = f"{sum(int(row['failed']) for row in rows):,} of {sum(int(row['users']) for row in rows):,}"
    shares = [share for row in rows if (share := of_share(row)) is not None]
    of_shares = f"{median(shares):.2f} ({max(shares):.2f})" if shares else "–"
    return [f"`{fault}`", str(len(rows)), show_figure(out, 2), f"≤ {FAULTS[fault].bar_s:g} s", str(after), users, of_shares, ", ".join(counted)]


def _failures(bad: list[tuple[object, dict, list[str]]]) -> str:
    if not bad:
        return ""
    rows = [[f"`{name}`", str(row["repeat"]), "; ".join(found), str(row["message"])] for name, row, found in bad]
    return f"### Rollouts that did not keep their bars\n\n{table(['rollout', 'repeat', 'what was found', 'the answer of the run'], rows)}\n\n"


def _series(rows: Rows) -> str:
    lines = []
    for name, of in SERIES.items():
        mine = [row for row in rows if row["series"] == name]
        if not mine:
            continue
        states = sorted({str(row["status"]) for row in mine})
        counted = [f"{state} ({sum(1 for row in mine if row['status'] == state)})" for state in states]
        after = Figure.of([float(row["after_s"]) for row in mine if row["after_s"] != ""])
        requests = Figure.of([float(row["requests"]) for row in mine if row["requests"] != ""])
        lines.append([f"`{name}`", of.about, str(len(mine)), ", ".join(counted), show_figure(after), show_figure(requests)])
    return table(["series", "what it is", "rollouts", "answers", "s", "requests to the candidate"], lines) if lines else "None was run."


def _mail(rows: Rows) -> str:
    if not any(row["series"] == "mail" for row in rows):
        return ""
    return """In `mail`, three Postfix are behind HAProxy in TCP mode with the PROXY protocol. Four senders send message after message, each in a session of its own,
and try again what was deferred. Twelve more sessions are in the middle of a message while the candidate is rolled back. Messages are counted in the
mailboxes, by their Message-IDs, not in the logs that Showdown reads.

"""


def _programs(tables: dict[str, Rows], none: str) -> str:
    lines = [[commit, profile, dates, ", ".join(names)] for commit, profile, dates, names in program.groups(tables)]
    return table(["commit", "profile", "dates", "rows"], lines) + "\n" if lines else none + "\n"


def _earlier(tables: dict[str, Rows]) -> str:
    """Rows of other commits, which are in no bar."""
    if not any(tables.values()):
        return ""
    bad = sum(1 for row in tables["cases"] if problems(row)) + sum(1 for row in tables["series"] if problems_of_series(row))
    count = len(tables["cases"]) + len(tables["series"])
    return f"""### Earlier rollouts

{plural(count, "rollout")} by programs of other commits, which no bar above counts; {bad} of them did not keep their bar by today's rules. The rows are in
[live-traffic/earlier](live-traffic/earlier).

{_programs(tables, "")}
"""


def _simulated(rows: Rows) -> str:
    if not rows:
        return ""
    lines = [[row["case"], f"{int(row['rollouts']):,}", row["rolled_back"], row["median_s"] or "–", row["p90_s"] or "–", row.get("extra_late") or "–", row.get("date") or "not recorded"] for row in rows]
    return f"""## Simulated rollouts

{table(["case", "rollouts", "rolled back", "s to it, median", "90th percentile", "extra late requests, median", "date"], lines)}

An hour each, α = 1 %, margin 1.25, 50 requests/s for each of candidate and control where nothing else is said. A stall: 30 % late in one second of a
hundred. `cargo run --release -p traffic --example rollouts -- 1000`.

"""
