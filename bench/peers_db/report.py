"""Rows to Markdown: docs/results/peers-db.md, with the raw figures beside it."""

from __future__ import annotations

import csv
from pathlib import Path

from peers.figures import Bar, Figure
from peers.markdown import bars_table, show_figure, table, verdict

from .clients import CLIENTS, ENGINE, PGBENCH, PGBENCH_SAME, SYSBENCH
from .servers import Mariadb, Postgres

COLUMNS = (
    "round server client order statements seconds statements_per_s all_cycles user_share client_cpu clock_hz".split()
)

Rows = list[dict[str, object]]


def write(rows: Rows, settings: dict[str, object], results: Path) -> Path:
    """Writes the page and the raw figures."""
    save(rows, COLUMNS, results / "peers-db/cycles.csv")
    page = results / "peers-db.md"
    page.write_text(_page(rows, settings))
    return page


def save(rows: Rows, columns: list[str], path: Path) -> None:
    """The raw figures."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def by_round(rows: Rows, server: str, client: str, column: str) -> dict[object, float]:
    """One value a round."""
    chosen = (row for row in rows if (row["server"], row["client"]) == (server, client))
    return {row["round"]: float(row[column]) for row in chosen}


def ratio(rows: Rows, server: str, other: str, column: str) -> Figure | None:
    """Of the engine to another client, round by round: what both met in a round cancels out."""
    ours, theirs = (by_round(rows, server, client, column) for client in (ENGINE, other))
    return Figure.of([ours[n] / theirs[n] for n in ours if theirs.get(n)])


def bars(rows: Rows) -> list[Bar]:
    """What the engine promises."""
    mariadb, postgres, cycles, speed = Mariadb.name, Postgres.name, "all_cycles", "statements_per_s"
    return [
        Bar("MariaDB, all client cycles a query, × sysbench", 0.6, False, ratio(rows, mariadb, SYSBENCH, cycles), 3),
        Bar("PostgreSQL, all client cycles a query, × pgbench -S", 0.6, False, ratio(rows, postgres, PGBENCH, cycles), 3),
        Bar("MariaDB, throughput, × sysbench", 0.97, True, ratio(rows, mariadb, SYSBENCH, speed), 3),
        Bar("PostgreSQL, throughput, × pgbench with the same statement", 0.97, True,
            ratio(rows, postgres, PGBENCH_SAME, speed), 3),
    ]  # fmt: skip


def _page(rows: Rows, settings: dict[str, object]) -> str:
    judged = bars(rows)
    noisy = "" if settings["noise"] == "refused" else "\n**Measured on a busy machine: these figures do not count.**\n"
    facts = "\n".join(f"| {name} | {value} |" for name, value in settings.items() if name != "commands")
    commands = "\n".join(settings["commands"])
    return f"""# Engine and peers on databases

{verdict(judged)} Measured by `make bench-peers-db` on {settings["date"]}: {settings["rounds"]} rounds, in each every client
once in random order; medians, with the least and the most in brackets. The raw figures are in `peers-db/`.
{noisy}
## The bars

{bars_table(judged)}

## Point selects by a prepared statement, {settings["connections"]} connections, closed loop

{table(["server", "client", "all cycles a query", "of these in user mode", "× the engine's", "queries/s", "client CPU"],
        [row(rows, client.server, client.name, "statements_per_s") for client in CLIENTS])}

The engine checks that each query returns one row of the right length; the peers fetch it. sysbench has a thread for each
connection, pgbench and the engine one for all. {_kernel(rows)} `pgbench -S` asks tables of its own for a number of four bytes; the others
ask the same table for a text of 120.

## Method and machine

All cycles of a query are the client's CPU time over the whole run (wait4(2), login and preparation included) × the
cycles in a second of CPU time, measured right before and after on the same CPU (`floor clock`), over the queries. The
client's account of its queries is held against the server's (`Com_stmt_execute`, `xact_commit`). The server has one CPU
and the client the other. How the kernel splits CPU time between its own and the user's is a sample.

| | |
|---|---|
{facts}

```sh
{commands}
```
"""


def _kernel(rows: Rows) -> str:
    """How low the ratio to sysbench could go: what is left if the engine had no cycles of its own."""
    cycles = by_round(rows, Mariadb.name, ENGINE, "all_cycles")
    user = by_round(rows, Mariadb.name, ENGINE, "user_share")
    theirs = by_round(rows, Mariadb.name, SYSBENCH, "all_cycles")
    figure = Figure.of([cycles[n] * (1 - user[n]) / theirs[n] for n in cycles if theirs.get(n)])
    if figure is None:
        return ""
    return (
        "Most of all cycles are the kernel's: for sending, receiving and waiting over loopback. With none of its own, the"
        f" engine would stand at {show_figure(figure, 2)} of sysbench's on MariaDB."
    )


def row(rows: Rows, server: str, client: str, speed: str) -> list[str]:
    """A client's line of the table of figures; `speed` is the column of operations a second."""

    def figure(column: str) -> Figure | None:
        return Figure.of(list(by_round(rows, server, client, column).values()))

    share, cpu, over = figure("user_share"), figure("client_cpu"), ratio(rows, server, client, "all_cycles")
    return [
        server, client, show_figure(figure("all_cycles")), f"{share.middle:.0%}" if share else "–",
        f"{1 / over.middle:.2f}" if over else "–", show_figure(figure(speed)),
        f"{cpu.middle:.0%}" if cpu else "–",
    ]  # fmt: skip
