"""Rows to Markdown: docs/results/users.md, with the raw figures beside it."""

from __future__ import annotations

from shared import whole_page
from shared.figures import Bar, Figure, Rows, by_round, figure, ratio
from shared.markdown import share, show_figure, table
from shared.results import ResultsPage, Settings
from shared.showdown import ENGINE

from . import scenario
from .clients import CLIENTS

TARGET = "users"
COLUMNS = "round order client users seconds requests counted requests_per_s cpu_us client_cpu memory_kib kib_per_user".split()
MANY, FEW = "10000", "500"
MOST_CORES = 0.6
"""Of one core, for 30,000 requests a second of 10,000 users."""
MOST_KIB = 2.0
"""Of a user and its connection."""


def bars(rows: Rows) -> list[Bar]:
    """The limits of what a user costs the engine."""
    rows = _as_text(rows)
    many = {"client": ENGINE, "users": MANY}
    return [
        Bar("10,000 users, 15 requests an operation, cycle 5 s: client CPU, cores", MOST_CORES, False, figure(rows, "client_cpu", **many), 2),
        Bar("memory of a further user, KiB", MOST_KIB, False, _further_user(rows), 2),
    ]


def _further_user(rows: Rows) -> Figure | None:
    """KiB between 500 and 10,000 users, by user."""
    few, many = (by_round(rows, "memory_kib", client=ENGINE, users=users) for users in (FEW, MANY))
    return Figure.of([(many[round_] - few[round_]) / (int(MANY) - int(FEW)) for round_ in many if round_ in few])


def page(rows: Rows, settings: Settings) -> str:
    """The whole page."""
    rows = _as_text(rows)
    lines = []
    for client in CLIENTS:
        for users in map(str, client.users):
            chosen = {"client": client.name, "users": users}
            cost = figure(rows, "cpu_us", **chosen)
            if cost is None:
                continue
            engine = by_round(rows, "cpu_us", client=ENGINE, users=FEW)
            over = ratio(by_round(rows, "cpu_us", **chosen), engine)
            cores = figure(rows, "client_cpu", **chosen)
            lines.append([
                client.name, f"{int(users):,}", show_figure(figure(rows, "requests_per_s", **chosen)), show_figure(cost, 1),
                f"{over.middle:.2f}" if over else "–", share(cores and cores.middle), show_figure(figure(rows, "kib_per_user", **chosen), 1),
            ])  # fmt: skip
    head = ["client", "users", "requests/s", "client CPU time a request, µs", "× the engine's with 500 users", "of one core", "memory a user, KiB"]
    body = f"""## A walk over three pages, {scenario.REQUESTS} requests an operation, a cycle of {scenario.CYCLE_S:g} s

{table(head, lines, numbers=True)}

- The engine checks each status, keeps a cookie a user, draws each next page by its matrix, and records walk, pacing and response times.
- Locust runs the same walk in Python with `FastHttpUser`, and k6 in JavaScript. Each has one process on one CPU.
- {int(FEW):,} users send {int(FEW) * scenario.REQUESTS / scenario.CYCLE_S:,.0f} requests a second where a client keeps up, and {int(MANY):,} users {int(MANY) * scenario.REQUESTS / scenario.CYCLE_S:,.0f}."""
    method = """- **CPU time a request**: the client's CPU time over the whole run (`wait4(2)`), without what the engine spent spinning, divided by the
  requests that nginx counted. It includes start and connects.
- **Memory a user**: the peak of resident memory of the client, divided by its users. What the program needs without users is in it, and the kernel's sockets are not.
- **Memory of a further user**: how much more the engine had with 10,000 users than with 500, divided by the 9,500 further ones.
- **CPUs**: nginx with one worker has one CPU and the client another. A run beside other programs that used more than 4 % of both CPUs is repeated."""
    return whole_page.page("Users with sessions: the engine and its peers", TARGET, bars(rows), settings, body, method)


def _as_text(rows: Rows) -> Rows:
    return [{name: str(value) for name, value in row.items()} for row in rows]


PAGE = ResultsPage(TARGET, "runs", COLUMNS, page)
