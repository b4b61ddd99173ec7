"""Rows to Markdown: docs/results/truth.md, with the raw figures beside it."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from shared.store import Store

from .cases import CONNECTIONS_OF_ARRIVALS, FREEZE_S, PERIOD_S, QUANTILES, ROUNDS, SATURATION_RUNS

Rows = list[dict[str, str]]


def write(store: Store, results: Path) -> None:
    """Writes the page and copies the raw figures."""
    store.publish(results / "truth")
    (results / "truth.md").write_text(page(store))


def page(store: Store) -> str:
    """The whole page."""
    settings = store.settings()
    parts = [_percentiles, _peers, _freeze, _counts, _arrivals, _saturation, _steady]
    facts = "\n".join(f"- {name}: {value}" for name, value in settings.items())
    return "\n\n".join(
        [
            "# How true are the numbers?",
            f"Measured by `make bench-truth` on {settings['date']}: the engine, and wrk, ab, h2load and hey, against servers"
            " whose behaviour is known (`showdown __known-server`). [METHODOLOGY](../METHODOLOGY.md) says how the truth is"
            " known; the raw figures are in `truth/`, one line a row. `showdown selftest` does a minute of it on your host."
            " Debian 12 has no package of wrk2, oha, vegeta or k6, which wrk's users go on to.",
            "A case during which the hypervisor took more than 0.5 % of the CPUs does not count and is measured again:"
            f" {store.discarded()} did not count, for that or another reason (`truth/discarded.csv`).",
            *[part(store.rows) for part in parts],
            f"## The machine\n\n{facts}",
        ]
    ) + "\n"


def table(heads: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown: the first column to the left, the others to the right."""
    if not rows:
        return "Not measured yet."
    lines = [heads, ["---"] + ["--:"] * (len(heads) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def us(value: str | float) -> str:
    """A time as people read it."""
    if value == "" or value is None:
        return "–"
    value = float(value)
    for limit, divisor, unit in ((999.5, 1, "µs"), (999.5e3, 1e3, "ms"), (float("inf"), 1e6, "s")):
        if value < limit:
            break
    scaled = value / divisor
    decimals = 0 if unit == "µs" or scaled >= 99.95 else 1 if scaled >= 9.995 else 2
    return f"{scaled:.{decimals}f} {unit}"


def is_true(known: float, said: float) -> bool:
    """Within 2 % or 20 µs."""
    return abs(said - known) <= max(0.02 * known, 20.0)


def _quantile(name: str) -> str:
    return name.replace("_", ".")


def _percentiles(rows) -> str:
    ours = [row for row in rows("percentiles") if row["client"] == "showdown"]
    groups: dict[tuple[str, ...], Rows] = {}
    for row in ours:
        groups.setdefault((row["protocol"], row["service"], row["share"]), []).append(row)
    lines, met, figures = [], 0, 0
    owned = {True: 0, False: 0}
    for (protocol, service, share), group in groups.items():
        cells = []
        shown = [row for row in group if row["valid"] == "True"] or group
        for quantile in QUANTILES:
            runs = [row for row in shown if row["quantile"] == quantile]
            known = median(float(row["true_us"]) for row in runs)
            off = median(float(row["said_us"]) - float(row["true_us"]) for row in runs)
            doubt = median(float(row["doubt_us"]) for row in runs)
            good = is_true(known, known + off)
            met, figures = met + good, figures + 1
            owned[good] += doubt > 0
            cells.append(f"{us(known)} {off:+.0f} µs" + ("" if good else " **miss**") + ("" if doubt == 0 else f" (client: {us(doubt)})"))
        valid = [row["valid"] == "True" for row in group if row["quantile"] == "p50"]
        load = f"{float(share):.0%} ({float(group[0]['rate_per_s']):,.0f}/s)"
        lines.append([f"{protocol}, {service}", load, *cells, f"{sum(valid)} of {len(valid)}"])
    heads = ["server", "load"] + [_quantile(name) for name in QUANTILES] + ["valid"]
    return (
        "## Response times of known distributions\n\n"
        f"**{met} of {figures} percentiles within 2 % or 20 µs; of {owned[False]} of the other {figures - met} the engine says"
        " itself that the client had a part in them** (in brackets: about how much; it says so of"
        f" {owned[True]} that are true, too). The server's own percentile, and how far what the engine"
        f" says is from it over the same requests: the median of {ROUNDS} rounds of 3 s each, without a warm-up, so that the"
        " first requests count. Load is a share of the highest open-loop rate at which one worker is believed. Rounds that"
        " the engine itself called invalid are left out where there are valid ones.\n\n"
        "What misses is the p99.9 of times that hardly scatter, and what the client's own queue adds near its limit. A client"
        " that is held up for 3 ms delays all that falls due meanwhile. Here something does so once a second: a service of"
        " the virtual machine's own works for 3.5 ms, on whichever CPU is idle, and with two CPUs at work one has to wait (seen"
        " by a loop that does nothing but read the clock: alone it is never away for more than 0.3 ms, one on each CPU is for"
        " 1.7 to 3.6 ms, once a second). A round of 3 s has three such moments, and at 10 % of the load they are one request in"
        " a thousand. Distributions that are wider than that are true to the p99.9. What the engine cannot tell is the wake-up"
        " of its thread, 10 to 30 µs: `showdown selftest` has it as the host's floor.\n\n"
        + table(heads, lines)
    )


def _peers(rows) -> str:
    lines = []
    by_case: dict[str, dict[str, dict[str, str]]] = {}
    for row in rows("percentiles"):
        if row["client"] != "showdown":
            by_case.setdefault(row["case"], {})[row["quantile"]] = row
    for case, group in by_case.items():
        cells = [case, f"{float(group['p50']['rate_per_s']):,.0f}/s"]
        for quantile in ("p50", "p90", "p99"):
            row = group[quantile]
            if row["said_us"] == "":
                cells.append("not said")
                continue
            known, said = float(row["true_us"]), float(row["said_us"])
            cells.append(f"{us(said)} ({said - known:+.0f} µs)" + ("" if is_true(known, said) else " **miss**"))
        lines.append(cells)
    return (
        "### What the usual tools say of the same server\n\n"
        "Their closed loops: they cannot offer a rate (hey and h2load can be told one, and then skip what they miss). ab"
        " prints whole milliseconds; h2load prints no percentiles; wrk adds made-up requests for each that was slower than"
        " the mean (`stats_correct` in its src/stats.c, against coordinated omission), which shifts a distribution that is"
        " wide by nature.\n\n"
        + table(["client", "throughput", "p50", "p90", "p99"], lines)
    )


def _freeze(rows) -> str:
    lines, met, all_ours = [], 0, 0
    by_case: dict[str, dict[str, dict[str, str]]] = {}
    for row in rows("freeze"):
        by_case.setdefault(row["case"], {})[row["quantile"]] = row
    for case, group in by_case.items():
        cells = [case, f"{int(group['p95']['requests']):,}"]
        for quantile in ("p95", "p99", "max"):
            row = group[quantile]
            if row["said_us"] == "":
                cells.append("not said")
                continue
            known, said = float(row["arithmetic_us"]), float(row["said_us"])
            good = abs(said / known - 1) <= 0.02
            if row["client"] == "showdown":
                met, all_ours = met + good, all_ours + 1
                cells.append(f"{us(said)} of {us(known)}" + ("" if good else " **miss**"))
            else:
                cells.append(us(said))
        lines.append(cells)
    return (
        f"## A server that is frozen for {FREEZE_S:g} s every {PERIOD_S:g} s\n\n"
        f"**{met} of {all_ours} within 2 % of arithmetic**, which at 1,000 requests/s is 0.5, 0.9 and 1.0 s; with few"
        " connections a little more at p95, because what has gathered is then served one round trip after the other. The"
        " usual tools send no more until the server answers, so that a freeze is one slow request a connection to them,"
        " whatever share of the time it takes: it is in the longest time and not in the percentiles. wrk adds made-up"
        " requests in their place, which comes near at p99 and is silent at p95, which it does not print; hey at a rate"
        " leaves out those that it could not send in time.\n\n"
        + table(["client", "requests", "p95", "p99", "longest"], lines)
    )


def _counts(rows) -> str:
    lines = []
    for row in rows("counts"):
        known, said = int(row["known"]), int(row["said"])
        lines.append([row["client"], row["what"], f"{known:,}", f"{said:,}", f"{said - known:+,}" if said != known else "0"])
    ours = [row for row in rows("counts") if row["client"] == "showdown"]
    exact = sum(row["known"] == row["said"] for row in ours)
    return (
        f"## Counts\n\n**{exact} of {len(ours)} of the engine's counts differ by 0.** Tools that stop by the clock leave"
        " requests in flight that the server has answered or will answer.\n\n"
        + table(["client", "what", "server", "client's", "difference"], lines)
    )


def _arrivals(rows) -> str:
    lines = []
    for row in rows("arrivals"):
        is_poisson = row["kind"] == "poisson"
        tested = [_failing(row, name) if is_poisson else "–" for name in ("", "beyond_")]
        gaps = [us(row[name]) for name in ("p1_us", "p50_us", "p99_us")]
        short = f"{float(row['shorter_than_a_send']):.1%}" if row["shorter_than_a_send"] else "–"
        lag = f"{us(row['lag_p50_us'])}, {us(row['lag_p99_us'])}"
        lines.append([f"{row['kind']}, {int(row['rate_per_s']):,}/s", f"{int(row['gaps']):,}", *tested, *gaps, short, lag])
    heads = ["arrivals", "gaps", "windows that fail", "beyond 10 µs", "p1", "p50", "p99", "under 3 µs", "sent late p50, p99"]
    return (
        "## Gaps as sent\n\nBy the kernel's receive timestamps. Windows of 500 gaps (200 at 100/s) fail Anderson–Darling"
        " at 5 %: one in twenty does by chance. One thread cannot send two requests closer together than one send takes,"
        " about 3 µs here, so the shortest gaps are stretched, and at tens of thousands a second there are enough of them"
        " for the test to see. The next column tests the rest: what gaps have beyond 10 µs is exponential again, for that"
        " law has no memory. Response times count from the due time and include the stretching. At a constant rate p1 and"
        f" p99 are the bar: {CONNECTIONS_OF_ARRIVALS} connections do not fire together.\n\n" + table(heads, lines)
    )


def _failing(row: dict[str, str], what: str) -> str:
    failing, windows = row[f"{what}failing"], row[f"{what}windows"]
    return f"{failing} of {windows}" if failing else "not tested"


def _saturation(rows) -> str:
    groups: dict[tuple[str, str], Rows] = {}
    for row in rows("saturation"):
        # The mix of protocols is the number's: one after the other.
        protocol = ("HTTP", "memcached")[(int(row["case"].split()[1]) - 1) % 2]
        groups.setdefault((row["side"], f"{protocol}, {row['how']}"), []).append(row)
    lines, right = [], {"beyond": 0, "inside": 0}
    for (side, how), runs in sorted(groups.items()):
        called = sum(row["valid"] == ("False" if side == "beyond" else "True") for row in runs)
        right[side] += called
        verdict = "invalid" if side == "beyond" else "valid"
        told = f"{called} called {verdict}" + ("" if called == len(runs) else " **miss**")
        lines.append([f"{side}: {how}", str(len(runs)), told, f"{median(float(row['client_busy']) for row in runs):.0%}"])
    return (
        f"## A client at its limit\n\n**{right['beyond']} of {_runs(groups, 'beyond')} runs beyond the client's limit called"
        f" invalid, {right['inside']} of {_runs(groups, 'inside')} inside it called valid**; the bar is {SATURATION_RUNS} of"
        f" {SATURATION_RUNS} on both sides. Half of the runs beyond are offered more than a worker does in a closed loop, half 80 %"
        " of the highest rate that is believed with another busy program on the client's CPU, of which a worker notices"
        " nothing but the time for which it was ready and not run (`run_delay` in `/proc/thread-self/schedstat`): from 5 % on"
        " the engine calls that starved. Client and known server cost about as much a request: where each has one CPU, a rate"
        " that is too much for the client is too much for the server, and a client that is not busy all the time although"
        " requests are due waits for connections, and they for the server.\n\n"
        + table(["the client", "runs", "verdict", "client busy"], lines)
    )


def _runs(groups: dict[tuple[str, str], Rows], side: str) -> int:
    return sum(len(runs) for (of, _), runs in groups.items() if of == side)


def _steady(rows) -> str:
    lines = []
    for row in rows("steady"):
        known, said = row["known_per_s"], row["said_per_s"]
        off = f"{float(said) / float(known) - 1:+.2%}" if known and said else "–"
        left_out = f"{float(row['discarded_s']):.1f} s"
        lines.append([f"{float(row['warms_s']):g} s", left_out, off, "yes" if row["valid"] == "True" else "no"])
    offs = [
        abs(float(row["said_per_s"]) / float(row["known_per_s"]) - 1)
        for row in rows("steady")
        if row["known_per_s"] and row["said_per_s"]
    ]
    middle = f" Median distance {median(offs):.2%}." if offs else ""
    return (
        "## Steady state\n\nTrials of a bake-off (`bench/truth/known/workload.toml`) whose server has a cache that fills in a"
        " known time: what the warm-up left out, and the throughput beside that of the same server with a full cache"
        f" (median of its trials in the same run).{middle}\n\n"
        + table(["cache fills in", "left out", "throughput off by", "valid"], lines)
    )
