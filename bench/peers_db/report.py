"""Rows to Markdown: docs/results/peers-db.md, with the raw figures beside it."""

from __future__ import annotations

from shared import whole_page
from shared.figures import Bar, Figure, Rows, by_round
from shared.markdown import show_figure
from shared.results import ResultsPage, Settings
from shared.showdown import ENGINE
from shared.whole_page import engine_ratio

from .clients import CLIENTS, PGBENCH, PGBENCH_SAME, SYSBENCH
from .servers import Mariadb, Postgres

TARGET = "peers-db"
COLUMNS = (
    "round server client order statements seconds statements_per_s all_cycles user_share client_cpu clock_hz".split()
)
SPEED = "statements_per_s"


def bars(rows: Rows) -> list[Bar]:
    """The limits of the engine's cost and throughput."""
    mariadb, postgres = Mariadb.name, Postgres.name
    return [
        Bar("MariaDB, all client cycles per query, × sysbench", 0.6, False,
            engine_ratio(rows, mariadb, SYSBENCH, "all_cycles"), 3),
        Bar("PostgreSQL, all client cycles per query, × pgbench -S", 0.6, False,
            engine_ratio(rows, postgres, PGBENCH, "all_cycles"), 3),
        Bar("MariaDB, throughput, × sysbench", 0.97, True, engine_ratio(rows, mariadb, SYSBENCH, SPEED), 3),
        Bar("PostgreSQL, throughput, × pgbench with the same statement", 0.97, True,
            engine_ratio(rows, postgres, PGBENCH_SAME, SPEED), 3),
    ]  # fmt: skip


def page(rows: Rows, settings: Settings) -> str:
    """The whole page."""
    pairs = [(client.server, client.name) for client in CLIENTS]
    body = f"""## Point selects by a prepared statement, {settings["connections"]} connections, closed loop

{whole_page.costs_table(rows, pairs, "server", "query", "queries", SPEED)}

- The engine checks that each query returns one row of the right length. The peers fetch the row.
- sysbench has one thread per connection. pgbench and the engine have one thread for all connections.
- `pgbench -S` reads a number of 4 bytes from its own tables. The other clients read a text of 120 bytes from one table.
{_kernel(rows)}"""
    method = """- **All cycles per query**: the client's CPU time over the whole run, with login and preparation (`wait4(2)`), times the
  cycles in a second of CPU time, divided by the queries. `floor clock` measures the cycles in a second on the same CPU,
  right before and right after the run.
- **Counts**: the client's count of its queries must agree with the server's (`Com_stmt_execute`, `xact_commit`) to 2 %.
- **CPUs**: the server has one CPU and the client another.
- **User mode**: the kernel samples how CPU time divides between kernel and user mode, so that share is an estimate."""
    return whole_page.page("Engine and peers on databases", TARGET, bars(rows), settings, body, method)


def _kernel(rows: Rows) -> str:
    """The lowest possible ratio to sysbench: the engine's cycles in the kernel alone."""
    cycles, user = (by_round(rows, column, server=Mariadb.name, client=ENGINE) for column in ("all_cycles", "user_share"))
    sysbench = by_round(rows, "all_cycles", server=Mariadb.name, client=SYSBENCH)
    figure = Figure.of([cycles[n] * (1 - user[n]) / sysbench[n] for n in cycles if sysbench.get(n)])
    if figure is None:
        return ""
    return (
        "- Most cycles are the kernel's, for sending, receiving and waiting over loopback. Without any cycles in user mode,"
        f" the\n  engine's ratio to sysbench on MariaDB would be {show_figure(figure, 2)}."
    )


PAGE = ResultsPage(TARGET, "cycles", COLUMNS, page)
