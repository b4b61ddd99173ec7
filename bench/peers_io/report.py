"""Rows to Markdown: docs/results/peers-io.md, with the raw figures beside it."""

from __future__ import annotations

from pathlib import Path

from peers.figures import Bar, Figure
from peers.markdown import bars_table, show_figure, table, verdict
from peers_db.report import Rows, save

from .cases import CASES, FILE_BYTES, Case

OURS, PEER = "showdown", "fio"
MOST_APART = 0.05
COLUMNS = "round case client order transfers_per_s p50_us p99_us".split()


def write(rows: Rows, settings: dict[str, object], results: Path) -> Path:
    """Writes the page and the raw figures."""
    save(rows, COLUMNS, results / "peers-io/transfers.csv")
    page = results / "peers-io.md"
    page.write_text(_page(rows, settings))
    return page


def by_round(rows: Rows, case: Case, client: str, column: str) -> dict[object, float]:
    """One value a round."""
    chosen = (row for row in rows if (row["case"], row["client"]) == (case.name, client))
    return {row["round"]: float(row[column]) for row in chosen}


def ratio(rows: Rows, case: Case, column: str) -> Figure | None:
    """Of ours to fio's, round by round: what both met in a round cancels out."""
    ours, theirs = (by_round(rows, case, client, column) for client in (OURS, PEER))
    return Figure.of([ours[n] / theirs[n] for n in ours if theirs.get(n)])


def bars(rows: Rows) -> list[Bar]:
    """Where the device sets the pace, both must tell the same of it."""

    def bar(case: Case) -> Bar:
        over = ratio(rows, case, "transfers_per_s")
        apart = Figure.of([abs(over.middle - 1)]) if over else None
        return Bar(f"{case.name}: distance of the ratio from 1", MOST_APART, False, apart, 3)

    return [bar(case) for case in CASES if case.is_of_the_device]


def _page(rows: Rows, settings: dict[str, object]) -> str:
    judged = bars(rows)
    facts = "\n".join(f"| {name} | {value} |" for name, value in settings.items() if name != "commands")
    commands = "\n".join(settings["commands"])
    return f"""# Block I/O and fio

{verdict(judged)} Measured by `make bench-peers-io` on {settings["date"]}: {settings["rounds"]} rounds, in each every
case once in random order, and in each case the two one after the other in random order; medians, with the least and the
most in brackets. The raw figures are in `peers-io/`.

## The bars

{bars_table(judged)}

## All cases, one thread

{table(["", "showdown, transfers/s", "fio, transfers/s", "ratio", "showdown p50, p99, µs", "fio p50, p99, µs"],
        [_row(rows, case) for case in CASES])}

The last two cases are of memory and have no bar: a transfer takes a microsecond or a hundred there, and what a program
does between two of them is a part of the figure. Ratios over 1 say that ours does less.

## Method and machine

Both transfer to and from one file of {FILE_BYTES >> 20} MiB of random bytes, which our runner has written and which is
on the medium before the first round: the same bytes at the same place of the disk. Each runs
{settings["seconds of a run"]} s after {settings["warm-up, s"]} s that do not count. A time is that of the whole
transfer, from where the program begins it to where it sees its end: fio's `lat`, and ours from the end of the one
before. Ours are whole microseconds.

| | |
|---|---|
{facts}

```sh
{commands}
```
"""


def _row(rows: Rows, case: Case) -> list[str]:
    def figure(client: str, column: str) -> Figure | None:
        return Figure.of(list(by_round(rows, case, client, column).values()))

    def times(client: str) -> str:
        shown = (figure(client, column) for column in ("p50_us", "p99_us"))
        return ", ".join(f"{value.middle:,.0f}" if value else "–" for value in shown)

    speeds = [show_figure(figure(client, "transfers_per_s")) for client in (OURS, PEER)]
    return [case.name, *speeds, show_figure(ratio(rows, case, "transfers_per_s"), 3), times(OURS), times(PEER)]
