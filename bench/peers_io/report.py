"""Rows to Markdown: docs/results/peers-io.md, with the raw figures beside it."""

from __future__ import annotations

from shared import whole_page
from shared.figures import Bar, Figure, Rows, by_round, figure
from shared.figures import ratio as ratio_of
from shared.markdown import show_figure, table
from shared.results import ResultsPage, Settings
from shared.showdown import ENGINE

from .cases import CASES, FILE_BYTES, Case

TARGET = "peers-io"
PEER = "fio"
MAX_DISTANCE = 0.05
SPEED = "transfers_per_s"
COLUMNS = "round case client order transfers_per_s p50_us p99_us".split()


def ratio(rows: Rows, case: Case) -> Figure | None:
    """The runner's transfers per second divided by fio's, within each round."""
    return ratio_of(*(by_round(rows, SPEED, case=case.name, client=client) for client in (ENGINE, PEER)))


def bars(rows: Rows) -> list[Bar]:
    """Where the device sets the pace, runner and fio must report the same throughput."""

    def bar(case: Case) -> Bar:
        over = ratio(rows, case)
        distance = Figure.of([abs(over.middle - 1)]) if over else None
        return Bar(f"{case.name}: distance of the ratio from 1", MAX_DISTANCE, False, distance, 3)

    return [bar(case) for case in CASES if case.is_of_the_device]


def page(rows: Rows, settings: Settings) -> str:
    """The whole page."""
    head = ["", "showdown, transfers/s", "fio, transfers/s", "ratio", "showdown p50, p99, µs", "fio p50, p99, µs"]
    body = f"""## All cases, one thread

{table(head, [_row(rows, case) for case in CASES])}

A ratio above 1 means that the runner is faster. The last two cases read from memory and have no bar: a transfer takes
between 1 and 100 µs there, and the program's own work between two transfers is part of the figure."""
    method = f"""- **File**: both programs transfer to and from the same file of {FILE_BYTES >> 20} MiB of random bytes. The runner writes it to the medium
  before the first round.
- **Length**: each run lasts {settings["seconds of a run"]} s, after {settings["warm-up, s"]} s that do not count.
- **Times**: the time of a whole transfer, from its start to its end in the program. For fio this is `lat`. The runner counts
  from the end of the previous transfer, in whole microseconds."""
    order = "Each round runs every case once, in random order, and in each case the runner and fio in random order."
    return whole_page.page("Block I/O and fio", TARGET, bars(rows), settings, body, method, order)


def _row(rows: Rows, case: Case) -> list[str]:
    def times(client: str) -> str:
        shown = (figure(rows, column, case=case.name, client=client) for column in ("p50_us", "p99_us"))
        return ", ".join(f"{value.middle:,.0f}" if value else "–" for value in shown)

    speeds = [show_figure(figure(rows, SPEED, case=case.name, client=client)) for client in (ENGINE, PEER)]
    return [case.name, *speeds, show_figure(ratio(rows, case), 3), times(ENGINE), times(PEER)]


PAGE = ResultsPage(TARGET, "transfers", COLUMNS, page)
