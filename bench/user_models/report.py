"""Rows to Markdown: docs/results/user-models.md, with the raw figures beside it."""

from __future__ import annotations

from shared import whole_page
from shared.figures import Bar, Figure, Rows, by_round, figure
from shared.markdown import show_figure, table
from shared.results import ResultsPage, Settings

from . import models

TARGET = "user-models"
COLUMNS = "round order model operations_per_s mean_ms p99_ms simulated_mean_ms simulated_p99_ms".split()
OPEN, PARTLY_OPEN, CLOSED, FROZEN = (model.name for model in models.MODELS)
WITHIN = 0.02
"""Of the p99 that follows from the length of a freeze."""
LOWER = 1.0


def bars(rows: Rows) -> list[Bar]:
    """The order of the models, and the freeze."""
    frozen = {number: float(value) for number, value in by_round(rows, "p99_ms", model=FROZEN).items()}
    simulated = by_round(rows, "simulated_p99_ms", model=FROZEN)
    off = Figure.of([abs(frozen[number] / float(simulated[number]) - 1) for number in frozen])
    return [
        Bar("mean response time: open loop ÷ visits", LOWER, True, _over(rows, OPEN, PARTLY_OPEN), 2),
        Bar("mean response time: visits ÷ closed loop", LOWER, True, _over(rows, PARTLY_OPEN, CLOSED), 2),
        Bar("p99 of visits under a freeze: how far from arithmetic, a share", WITHIN, False, off, 3),
    ]


def _over(rows: Rows, longer: str, shorter: str) -> Figure | None:
    """The ratio of the medians: the means of single rounds scatter as those of their simulation do."""
    a, b = (figure(rows, "mean_ms", model=name) for name in (longer, shorter))
    return Figure.of([a.middle / b.middle]) if a and b else None


def page(rows: Rows, settings: Settings) -> str:
    """The whole page."""
    rows = [{name: str(value) for name, value in row.items()} for row in rows]
    lines = []
    for model in models.MODELS:
        of = {name: figure(rows, name, model=model.name) for name in COLUMNS[3:]}
        lines.append([
            model.name, show_figure(of["operations_per_s"]), show_figure(of["mean_ms"], 1), show_figure(of["simulated_mean_ms"], 1),
            show_figure(of["p99_ms"]), show_figure(of["simulated_p99_ms"]),
        ])  # fmt: skip
    head = ["model", "operations/s", "mean, ms", "simulated", "p99, ms", "simulated"]
    body = f"""## Response times of the same load, by model

{table(head, lines, numbers=True)}

- The server of the first three serves one request at a time: {models.SHORT_S * 1e3:g} ms, and {models.LONG_S * 1e3:g} ms for {models.LONG_SHARE:.0%} of them. It is busy for 80 % of the time.
- Schroeder, Wierman and Harchol-Balter (*Open Versus Closed: A Cautionary Tale*, NSDI 2006) found the same order: open, partly open, closed.
- Under the freeze, visits arrive whatever the server does, and each first operation is due when its visit arrives."""
    method = """- **Simulated**: the same users in front of the same server, event by event (`bench/user_models/models.py`).
- A mean of a minute scatters: single simulations of a minute have means of the open loop from 60 to 140 ms."""
    return whole_page.page("Models of users on servers of known behaviour", TARGET, bars(rows), settings, body, method, "Each round runs every model once, in random order.")


PAGE = ResultsPage(TARGET, "runs", COLUMNS, page)
