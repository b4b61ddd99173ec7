"""The parts that the pages of benches with whole runs have in common."""

from __future__ import annotations

from .figures import Bar, Figure, Rows, by_round, figure, ratio
from .markdown import BUSY, bars_table, facts_table, plural, share, shell, show_figure, table, verdict
from .results import Settings
from .showdown import ENGINE

ORDER = "Each round runs every client once, in random order."


def page(title: str, target: str, bars: list[Bar], settings: Settings, body: str, method: str, order: str = ORDER) -> str:
    """A whole page: verdict, bars, figures, method, machine and commands."""
    busy = BUSY if settings.get("noise") == "tolerated" else ""
    return f"""# {title}

{verdict(bars)}

Measured by `make bench-{target}` on {settings["date"]}, in {plural(settings["rounds"], "round")}. {order} Figures are medians;
minimum and maximum are in brackets. The raw figures are in `{target}/`. [GLOSSARY](../GLOSSARY.md) explains the terms.
{busy}
## Bars

{bars_table(bars)}

{body}

## Method and machine

{method}

{facts_table(settings)}

{shell(settings["commands"])}
"""


def engine_ratio(rows: Rows, server: str, client: str, column: str) -> Figure | None:
    """The engine's figure divided by another client's, within each round."""
    return ratio(*(by_round(rows, column, server=server, client=name) for name in (ENGINE, client)))


def costs_table(rows: Rows, pairs: list[tuple[str, str]], first: str, operation: str, operations: str, speed: str) -> str:
    """Cycles and throughput of each pair of server and client. `speed` is the column of operations per second."""
    head = [first, "client", f"all cycles per {operation}", "in user mode", "× the engine's", f"{operations}/s", "client CPU"]
    return table(head, [_costs_row(rows, server, client, speed) for server, client in pairs])


def _costs_row(rows: Rows, server: str, client: str, speed: str) -> list[str]:
    def of(column: str) -> Figure | None:
        return figure(rows, column, server=server, client=client)

    user, cpu, over = of("user_share"), of("client_cpu"), engine_ratio(rows, server, client, "all_cycles")
    return [
        server, client, show_figure(of("all_cycles")), share(user and user.middle),
        f"{1 / over.middle:.2f}" if over else "–", show_figure(of(speed)), share(cpu and cpu.middle),
    ]  # fmt: skip
