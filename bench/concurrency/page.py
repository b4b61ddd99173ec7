"""The page of results: bars, the cost of a transfer as they grow in number, Apache's break, other clients, and a run that is killed."""

from __future__ import annotations

from shared.figures import Bar, Figure, Rows
from shared.markdown import bars_table, facts_table, shell, table, verdict
from shared.results import ResultsPage, Settings

PACE = "65"
"""Bytes a second of a client: a million of them read 37,000 times a second, 1,792 bytes each."""
MOST = "nginx, most"
"""The name of the largest run."""
COLUMNS = [
    "run", "transfers", "in_progress", "availability", "rise_s", "hold_s", "first_byte_p50_us", "first_byte_p99_us",
    "first_byte_of_rise_p99_us", "first_byte_of_rise_max_us", "pace_share", "stalled_share", "failed", "never", "once", "twice",
    "marked", "server_cpu_cores", "client_cpu_cores", "server_bytes", "kernel_bytes", "client_bytes", "tcp_bytes",
    "available_bytes", "listen_overflows", "read_interval_s", "client_late_p99_us", "client_late_limit_us", "client_behind_share",
]  # fmt: skip
MAX_CLIENT_BYTES = 1_024
MAX_RISE_S = 120
MAX_SMALL_S = 60


def page(rows: Rows, settings: Settings) -> str:
    """The whole page."""
    answers: dict[str, dict] = settings["answers"]
    bars = _bars(rows, settings)
    named = "\n".join(f"- {name}: {answer['sentence']}. Ended after {answer['took_s']} s: {answer['ended']}." for name, answer in answers.items())
    rising = [row for row in rows if row["run"] in ("nginx, rising", MOST)]
    remark = f"\n**Remark:** {settings['remark']}\n" if "remark" in settings else ""
    return f"""# Very many downloads in progress at once

{verdict(bars)}

Measured by `make bench-concurrency` on {settings["date"]}, one machine with both ends, loopback. A client reads at {PACE} B/s where
no other pace follows from the command. Each step was measured once. The raw figures are in `concurrency/`.
{remark}

{bars_table(bars)}

{named}

## What a transfer costs as they grow in number

The number of clients rises by 10,000 a second, by 9,000 in the largest run. "Connect" is from when an attempt was due to its first byte, while the number rises.

{table(HEAD, [_cells(row) for row in rising], numbers=True)}

## Apache's event MPM to its own break

{table(HEAD, [_cells(row) for row in rows if row["run"] == "apache, to its break"], numbers=True)}

{_break(answers.get("apache, to its break"))}

## Other clients on the same server

Each is asked for more and more downloads at once, until it does not reach the number within 20 s. nginx sends each at 100 B/s, so
that it stays open: none of these clients has a pace of its own. None says how many of its downloads are in progress; the server does.

{table(PEERS_HEAD, [_peer(row) for row in settings.get("peers", [])], numbers=True)}

## A run that is killed

{_killed(settings.get("killed"))}

{facts_table(settings, without=("commands", "answers", "peers", "killed"))}

{shell(list(settings["commands"].values()))}
"""


def _bars(rows: Rows, settings: Settings) -> list[Bar]:
    top = next((row for row in rows if row["run"] == MOST), None)
    killed: dict | None = settings.get("killed")
    small: dict | None = settings["answers"].get("nginx, 50,000")

    def of_top(column: str, scale: float = 1.0) -> Figure | None:
        return Figure.of([float(top[column]) * scale]) if top and top[column] != "" else None

    client = Figure.of([float(top["client_bytes"]) / float(top["in_progress"])]) if top else None
    still = float(top["never"]) + float(top["once"]) if top and top["never"] != "" else None
    left = None if killed is None else killed["left_processes"] + len(killed["left_settings"])
    return [
        Bar("transfers in progress at once", 1_000_000, True, of_top("in_progress")),
        Bar("availability", 1.0, True, of_top("availability"), 4),
        Bar("held, s", 60, True, of_top("hold_s")),
        Bar("transfers that were in progress all that time, and their bytes counted", 1_000_000, True, of_top("marked")),
        Bar("those of them that did not advance twice", 0, False, None if still is None else Figure.of([still])),
        Bar("from none to all, s", MAX_RISE_S, False, of_top("rise_s"), 1),
        *late_reads(top),
        Bar("memory of the client for a transfer, bytes", MAX_CLIENT_BYTES, False, client),
        Bar("50,000 from start to report, s", MAX_SMALL_S, False, Figure.of([small["took_s"]]) if small else None, 1),
        Bar("processes and settings that a killed run leaves", 0, False, None if left is None else Figure.of([left])),
    ]


def late_reads(row: dict[str, object] | None) -> list[Bar]:
    """The bar of a step: how late the program lets reads be before it says that the client is the limit."""
    if row is None:
        return []
    late = Figure.of([float(row["client_late_p99_us"]) * 1e-6])
    return [Bar("how late the client's reads are (p99), s", _late_limit_s(row), False, late, 2)]


def _late_limit_s(row: dict[str, object]) -> float:
    return round(float(row["client_late_limit_us"]) * 1e-6, 2)


def _break(answer: dict | None) -> str:
    if answer is None:
        return "Not measured."
    recovered = (answer["recovery"] or {}).get("answered_after_s")
    back = "not within five minutes" if recovered is None else f"after {recovered:.0f} s"
    causes = "; ".join(f"{cause['sentence']} ({', '.join(cause['evidence'])})" for cause in answer["ran_out"][:1])
    return f"What ran out: {causes or 'nothing'}. New clients were answered within a second again {back}."


def _killed(killed: dict | None) -> str:
    if killed is None:
        return "Not measured."
    left = ", ".join(killed["left_settings"]) or "none"
    return (
        f"The largest run was killed with SIGKILL when {killed['transfers']:,} transfers were open, with {killed['processes']} "
        f"processes and these settings changed: {', '.join(killed['changed_settings']) or 'none'}. After {killed['clean_after_s']:.0f} s "
        f"there were {killed['left_processes']} of its processes, {killed['left_sockets']} of its sockets, and of its settings {left}."
    )


HEAD = ["transfers", "in progress", "availability", "rise, s", "connect p99, ms", "first byte when held p99, ms",
        "server CPU, cores", "client CPU, cores", "reads late p99, of at most, ms", "server, B each", "kernel, B each", "client, B each"]  # fmt: skip
PEERS_HEAD = ["client", "asked for", "most in progress", "reached after, s", "its CPU time, s", "its memory, B each", "gives up"]


def _cells(row: dict[str, object]) -> list[str]:
    each = max(1.0, float(row["in_progress"]))
    bytes_each = [f"{float(row[name] or 0) / each:,.0f}" for name in ("server_bytes", "kernel_bytes", "client_bytes")]
    ms = [f"{float(row[name]) / 1e3:,.1f}" for name in ("first_byte_of_rise_p99_us", "first_byte_p99_us")]
    cores = [f"{float(row[name] or 0):.2f}" for name in ("server_cpu_cores", "client_cpu_cores")]
    late = f"{float(row['client_late_p99_us']) / 1e3:,.1f} of {_late_limit_s(row) * 1e3:,.0f}"
    counts = [f"{int(row['transfers']):,}", f"{int(row['in_progress']):,}"]
    return [*counts, f"{float(row['availability']):.2%}", f"{float(row['rise_s']):.1f}", *ms, *cores, late, *bytes_each]


def _peer(row: dict) -> list[str]:
    each = f"{row['client_bytes'] / row['in_progress']:,.0f}" if row["in_progress"] else "–"
    return [
        row["run"], f"{row['transfers']:,}", f"{row['in_progress']:,}", str(row["rise_s"] or "–"), f"{row['client_cpu_s']:.1f}",
        each, row["gives_up"] or "–",
    ]  # fmt: skip


PAGE = ResultsPage("concurrency", "steps", COLUMNS, page)
