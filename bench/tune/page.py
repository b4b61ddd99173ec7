"""Rows to Markdown: docs/results/tune.md."""

from __future__ import annotations

from statistics import median

from shared import binomial
from shared.ledger import Ledger
from shared.markdown import plural, table

from . import gains, kills, rules, searches

COLUMNS = {"searches": searches.COLUMNS, "gains": gains.COLUMNS, "kills": kills.COLUMNS}
Rows = list[dict[str, str]]
WANTED = 20
"""Searches of planted gains that the bars are about."""


def write(ledgers: dict[str, Ledger]) -> str:
    """The whole page."""
    rows = ledgers["searches"].rows()
    killed = ledgers["kills"].rows()
    gained = gains.newest(ledgers["gains"].rows())
    tried, not_tried = gains.tried(gained), gains.not_tried(gained)
    dates = sorted({row["at"][:10] for row in rows + killed})
    return f"""# Searches for tunings

{plural(len(rows), "search", "searches")} and {plural(len(killed), "killed search", "killed searches")} by `make bench-tune` ({", ".join(dates) or "none yet"}). The series continues with the same command.
The rows are in `tune/`.

## Planted gains and placebos

A server of known behaviour is slowed twice. Two tunings undo that: {", ".join(f"{name} gains {rules.gain(name) - 1:.0%}" for name in rules.PLANTED)}; together
{rules.TRUTH - 1:.0%}. Ten others do nothing.

{table(["bar", "so far", ""], _planted(rows)) if _planted(rows) else "None searched yet."}

## Real servers

*Tried* are settings: a tuning with three values has three. The commit is that of the program that searched; the earlier ones of a server may have
searched by other rules (decision 0021). Searches without a measure here compared capacities.

{table(["command", "date", "commit", "measure", "settings tried", "tunings not tried", "kept", "took", "answer"], _servers(rows)) if _servers(rows) else "None searched yet."}

## Published gains

Of the newest search of each server. The figure is a tuning's own share of what was confirmed; of one that was dropped before, its mean gain over the
baseline in screening and race, the best of many. Tunings that weaken durability are tried in a table of their own and never kept. *Seen* is a gain that was
kept, or whose interval is above 1. What was published for another server is there for scale only.

{table(["tuning", "setting", "published", "search", "measured here", "seen", "why"], tried) if tried else "None tried yet."}

Not tried:

{table(["tuning", "searches", "why"], not_tried) if not_tried else "None."}

Who published them:

{table(["tuning", "gain", "source"], gains.sources())}

## Killed searches

{_killed(killed)}
"""


def _of(rows: Rows, search: searches.Search) -> Rows:
    """The searches with an answer."""
    return [row for row in rows if row["search"] == search.name and not row["error"]]


def _share(count: int, of: int) -> str:
    low, high = binomial.interval(count, of)
    return f"{count} of {of}, {count / of:.0%} ({low:.0%}–{high:.0%})"


def _planted(rows: Rows) -> list[list[str]]:
    planted, best = _of(rows, searches.PLANTED), _of(rows, searches.BEST)
    lines = []
    if planted:
        placebos = sum(any(kept in rules.PLACEBOS for kept in row["kept"].split()) for row in planted)
        lines.append(["a placebo is kept in no search", _share(placebos, len(planted)), _met(placebos == 0, len(planted))])
        for name in rules.PLANTED:
            kept = sum(name in row["kept"].split() for row in planted)
            lines.append([f"{name} is kept in ≥ 90 %", _share(kept, len(planted)), _met(kept >= 0.9 * len(planted), len(planted))])
        told = [row for row in planted if row["low"] and set(row["kept"].split()) == set(rules.PLANTED)]
        if told:
            held = sum(float(row["low"]) <= rules.TRUTH <= float(row["high"]) for row in told)
            lines.append(["the headline's interval holds the true gain in ≥ 93 %", _share(held, len(told)), _met(held >= 0.93 * len(told), len(told))])
            middle = median(float(row["ratio"]) for row in told)
            lines.append(["median headline", f"{middle:.3f} (true: {rules.TRUTH:.3f})", ""])
    if best:
        headlines = sum(bool(row["ratio"]) for row in best)
        lines.append(["no headline on a server at its best", _share(headlines, len(best)), _met(headlines == 0, len(best))])
    failed = [row for row in rows if row["error"]]
    if failed:
        lines.append(["searches without an answer", f"{len(failed)}: {failed[-1]['error']}", ""])
    return lines


def _met(is_met: bool, searches: int) -> str:
    if not is_met:
        return "**not met**"
    return "met" if searches >= WANTED else f"so far, in {searches} of {WANTED} searches"


def _servers(rows: Rows) -> list[list[str]]:
    lines = []
    for search in searches.SERVERS:
        for row in (row for row in rows if row["search"] == search.name):
            minutes = f"{float(row['seconds']) / 60:.0f} min"
            command = f"`showdown tune {' '.join(search.arguments)}`"
            known = [row["at"][:10], row["commit"], row["metric"] or "–", row["tried"], row["not_tried"], row["kept"] or "–", minutes]
            lines.append([command, *known, row["sentence"] or row["error"]])
    return lines


def _killed(killed: Rows) -> str:
    if not killed:
        return "None killed yet."
    changed = sum(row["setting_then"] == "changed" for row in killed)
    left = sum(row["setting_after"] == "changed" for row in killed)
    processes = sum(int(row["processes_after"]) for row in killed)
    return (
        f"{plural(len(killed), 'search', 'searches')} of a kernel setting of nginx got SIGKILL at a random moment; in {changed} of them the setting was"
        f" changed just then. After `showdown undo`: {plural(left, 'changed setting')}, {plural(processes, 'running process', 'running processes')}."
    )
