"""Rows to Markdown: docs/results/truth.md, with the raw figures beside it. Saturation and steady state are in `validity`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median

from shared.markdown import facts_table, plural
from shared.markdown import table as markdown_table
from shared.showdown import ENGINE
from shared.store import Store

from . import validity
from .cases import CONNECTIONS_OF_ARRIVALS, FREEZE_S, PERIOD_S, QUANTILES, ROUNDS, store

Rows = list[dict[str, str]]
RowsOf = Callable[[str], Rows]
"""The rows of a table by its name."""
MISS = " **miss**"


def write(results: Path) -> None:
    """Writes the page from its raw figures."""
    (results / "truth.md").write_text(page(store(results / "truth")))


def page(store: Store) -> str:
    """The whole page."""
    settings = store.settings()
    parts = [_percentiles, _peers, _freeze, _counts, _arrivals, validity.saturation, validity.steady]
    return "\n\n".join(
        [
            "# How accurate are the numbers?",
            f"Measured by `make bench-truth` on {settings['date']}: the engine, wrk, ab, h2load and hey against servers of known"
            " behaviour (`showdown __known-server`).\n[METHODOLOGY](../METHODOLOGY.md) describes how the truth is known, and"
            " [GLOSSARY](../GLOSSARY.md) explains the terms. The raw figures are in `truth/`, one line per row.\n`showdown"
            " selftest` runs a one-minute version on your host.",
            "Debian 12 has no package of wrk2, oha, vegeta or k6, the usual successors of wrk.",
            _discarded(store.discarded()),
            *([settings["note"]] if "note" in settings else []),
            *[part(store.rows) for part in parts],
            f"## Machine\n\n{facts_table(settings, without=('note',))}",
        ]
    ) + "\n"


def _discarded(count: int) -> str:
    rule = "A case does not count if the hypervisor took more than 0.5 % of the CPUs. It is then measured again."
    if count == 0:
        return f"{rule} No case was discarded."
    were = "was" if count == 1 else "were"
    return f"{rule} {plural(count, 'case')} {were} discarded, for this or another reason (`truth/discarded.csv`)."


def table(heads: list[str], rows: list[list[str]]) -> str:
    """A table with numbers to the right."""
    return markdown_table(heads, rows, numbers=True) if rows else "Not measured yet."


def us(value: str | float) -> str:
    """A time in microseconds, in the unit that fits."""
    if value == "" or value is None:
        return "–"
    value = float(value)
    for limit, divisor, unit in ((999.5, 1, "µs"), (999.5e3, 1e3, "ms"), (float("inf"), 1e6, "s")):
        if value < limit:
            break
    scaled = value / divisor
    decimals = 0 if unit == "µs" or scaled >= 99.95 else 1 if scaled >= 9.995 else 2
    return f"{scaled:.{decimals}f} {unit}"


def is_accurate(true_us: float, reported_us: float) -> bool:
    """Whether a time is within 2 % or 20 µs of the true one."""
    return abs(reported_us - true_us) <= max(0.02 * true_us, 20.0)


def _by_case(rows: Iterable[dict[str, str]]) -> dict[str, dict[str, dict[str, str]]]:
    """Rows by case and quantile."""
    cases: dict[str, dict[str, dict[str, str]]] = {}
    for row in rows:
        cases.setdefault(row["case"], {})[row["quantile"]] = row
    return cases


def _percentiles(rows: RowsOf) -> str:
    groups: dict[tuple[str, ...], Rows] = {}
    for row in rows("percentiles"):
        if row["client"] == ENGINE:
            groups.setdefault((row["protocol"], row["service"], row["share"]), []).append(row)
    lines, accurate, total = [], 0, 0
    late = 0
    for (protocol, service, share), group in groups.items():
        cells = []
        shown = [row for row in group if row["valid"] == "True"] or group
        for quantile in QUANTILES:
            runs = [row for row in shown if row["quantile"] == quantile]
            true_us = median(float(row["true_us"]) for row in runs)
            off_us = median(float(row["reported_us"]) - float(row["true_us"]) for row in runs)
            client_us = median(float(row["client_us"]) for row in runs)
            is_good = is_accurate(true_us, true_us + off_us)
            accurate, total = accurate + is_good, total + 1
            is_visible = not is_accurate(true_us, true_us + client_us)
            late += is_visible
            client = f" (late sends: {us(client_us)})" if is_visible else ""
            cells.append(f"{us(true_us)} {off_us:+.0f} µs" + ("" if is_good else MISS) + client)
        valid = [row["valid"] == "True" for row in group if row["quantile"] == "p50"]
        load = f"{float(share):.0%} ({float(group[0]['rate_per_s']):,.0f}/s)"
        lines.append([f"{protocol}, {service}", load, *cells, f"{sum(valid)} of {len(valid)}"])
    summary = [
        ["within 2 % or 20 µs of the truth", str(accurate)],
        ["not", str(total - accurate)],
        ["all", str(total)],
        ["of these with visible late sends of the client, which the engine has taken out", str(late)],
    ]
    return f"""## Response times of known distributions

**{accurate} of {plural(total, "percentile")} are within 2 % or 20 µs.**

{table(["percentiles of the engine", "count"], summary)}

How to read the next table:

- A cell has the server's own percentile, and the distance of the engine's percentile over the same requests. Both are medians
  of {ROUNDS} rounds of 3 s. There is no warm-up, so the first requests count.
- The engine's percentile is that of its server time: the response time without the client's late sends, which the server cannot
  see. In brackets is what the late sends added to the percentile of the response time, where that is visible.
- Load is a share of the highest open-loop rate at which one worker gives valid results.
- Rounds that the engine itself called invalid are left out if there are valid ones.

{table(["server", "load", *(name.replace("_", ".") for name in QUANTILES), "valid"], lines)}

Where late sends come from:

- A client that is delayed by 3 ms delays all operations that fall due meanwhile. On this machine that happens once per second: a
  service of the virtual machine works for 3.5 ms, on whichever CPU is idle. With two busy CPUs one of them has to wait.
- A loop that only reads the clock shows this. Alone it is never interrupted for more than 0.3 ms. With one loop on each CPU, one
  of them is interrupted for 1.7 to 3.6 ms, once per second.
- The delay before a reply is read is in no percentile: an operation ends with the kernel's receive timestamp."""


def _peers(rows: RowsOf) -> str:
    lines = []
    for case, group in _by_case(row for row in rows("percentiles") if row["client"] != ENGINE).items():
        cells = [case, f"{float(group['p50']['rate_per_s']):,.0f}/s"]
        for quantile in ("p50", "p90", "p99"):
            row = group[quantile]
            if row["reported_us"] == "":
                cells.append("not reported")
                continue
            true_us, reported_us = float(row["true_us"]), float(row["reported_us"])
            cells.append(f"{us(reported_us)} ({reported_us - true_us:+.0f} µs)" + ("" if is_accurate(true_us, reported_us) else MISS))
        lines.append(cells)
    return f"""### Other tools on the same server

- wrk and ab run closed loops only. hey and h2load also accept a rate; hey skips the requests that it misses.
- ab prints whole milliseconds, and h2load prints no percentiles.
- wrk adds artificial requests for each request that was slower than the mean, against coordinated omission (`stats_correct` in
  its src/stats.c). This shifts a distribution that is wide by nature.

{table(["client", "throughput", "p50", "p90", "p99"], lines)}"""


def _freeze(rows: RowsOf) -> str:
    lines, accurate, total = [], 0, 0
    for case, group in _by_case(rows("freeze")).items():
        cells = [case, f"{int(group['p95']['requests']):,}"]
        for quantile in ("p95", "p99", "max"):
            row = group[quantile]
            if row["reported_us"] == "":
                cells.append("not reported")
                continue
            true_us, reported_us = float(row["arithmetic_us"]), float(row["reported_us"])
            is_good = abs(reported_us / true_us - 1) <= 0.02
            if row["client"] == ENGINE:
                accurate, total = accurate + is_good, total + 1
                cells.append(f"{us(reported_us)} of {us(true_us)}" + ("" if is_good else MISS))
            else:
                cells.append(us(reported_us))
        lines.append(cells)
    return f"""## A server that freezes for {FREEZE_S:g} s every {PERIOD_S:g} s

**{accurate} of {plural(total, "time")} of the engine {"is" if total == 1 else "are"} within 2 % of what follows from the length of the freeze.** At 1,000 requests/s, p95, p99 and maximum are 0.5, 0.9 and
1.0 s. With few connections the p95 is a little higher, because the queued requests are then served one round trip after
the other.

The other tools suffer from coordinated omission:

- In a closed loop they send nothing until the server answers. A freeze is then one slow request per connection, whatever share
  of the time it takes. It shows in the longest time and not in the percentiles.
- wrk adds artificial requests for those that it did not send. That comes close at p99. wrk does not print the p95.
- hey at a rate leaves out the requests that it could not send in time.

{table(["client", "requests", "p95", "p99", "longest"], lines)}"""


def _counts(rows: RowsOf) -> str:
    lines = []
    for row in rows("counts"):
        server, client = int(row["server_count"]), int(row["client_count"])
        lines.append([row["client"], row["what"], f"{server:,}", f"{client:,}", f"{client - server:+,}" if client != server else "0"])
    of_engine = [row for row in rows("counts") if row["client"] == ENGINE]
    exact = sum(row["server_count"] == row["client_count"] for row in of_engine)
    return f"""## Counts

**{exact} of {plural(len(of_engine), "count")} of the engine {"is" if len(of_engine) == 1 else "are"} exact.** Tools that stop after a time leave requests in flight, which the server still
counts.

{table(["client", "what", "server", "client's", "difference"], lines)}"""


def _arrivals(rows: RowsOf) -> str:
    lines = []
    for row in rows("arrivals"):
        is_poisson = row["kind"] == "poisson"
        tested = [_failing(row, name) if is_poisson else "–" for name in ("", "beyond_")]
        gaps = [us(row[name]) for name in ("p1_us", "p50_us", "p99_us")]
        short = f"{float(row['shorter_than_a_send']):.1%}" if row["shorter_than_a_send"] else "–"
        lag = f"{us(row['lag_p50_us'])}, {us(row['lag_p99_us'])}"
        lines.append([f"{row['kind']}, {int(row['rate_per_s']):,}/s", f"{int(row['gaps']):,}", *tested, *gaps, short, lag])
    heads = ["arrivals", "gaps", "windows that fail", "beyond 30 µs", "p1", "p50", "p99", "under 3 µs", "lag p50, p99"]
    return f"""## Gaps between requests as sent

- The gaps come from the kernel's receive timestamps.
- "Windows that fail": windows of 500 gaps (200 at 100/s) that fail the Anderson–Darling test at 5 %. One in twenty fails by chance.
- One thread cannot send two requests within less than the time of one send{_shortest(rows("arrivals"))}. So the shortest gaps are
  stretched, and from thousands per second on the test detects it. Response times start at the intended start, so they include it.
- "Beyond 30 µs" tests the rest: the exponential law has no memory, so the parts of gaps beyond 30 µs are exponential again. That is
  longer than a send and the replies that are read before the next one.
- At a constant rate, p1 and p99 show the precision: {CONNECTIONS_OF_ARRIVALS} connections do not send together.

{table(heads, lines)}"""


def _shortest(rows: list[dict[str, str]]) -> str:
    """The shortest gaps at rates at which chance makes shorter ones: about the time of a send."""
    poisson = [row for row in rows if row["kind"] == "poisson" and int(row["rate_per_s"]) >= 5_000]
    if not poisson:
        return ""
    slowest, fastest = poisson[0], poisson[-1]
    return f": here {us(fastest['p1_us'])} at {int(fastest['rate_per_s']):,}/s, and {us(slowest['p1_us'])} at {int(slowest['rate_per_s']):,}/s, where caches are cold"


def _failing(row: dict[str, str], what: str) -> str:
    failing, windows = row[f"{what}failing"], row[f"{what}windows"]
    return f"{failing} of {windows}" if failing else "not tested"
