"""Rows to Markdown: docs/results/olio.md."""

from __future__ import annotations

from pathlib import Path

from shared.ledger import Ledger
from shared.markdown import plural, table

DATA = {"data-100": 100, "data-1000": 1_000}
"""The data of so many users."""
PAIRS = {"rust-php": ("olio-rust", "olio-php"), "php-rails": ("olio-php", "olio-rails"), "php-java": ("olio-php", "olio-java")}
PARTS = ("web", "application", "database", "cache", "geocoder")
COLUMNS = {
    "data": "at commit builds beside rows seconds database_mb assets_mb".split(),
    "comparisons": "at commit builds beside command users seconds a b verdict ratio low high server valid invalid cpu_us users_per_core".split()
    + [f"{part}_us" for part in PARTS]
    + ["memory_mb"],
}
MOST_SECONDS = {100: 15, 1_000: 90}
"""The bars of the data."""
MOST_MINUTES = 6
"""The bar of a quick comparison of 100 users."""

Rows = list[dict[str, str]]


def ledgers(results: Path) -> dict[str, Ledger]:
    """The raw figures below this directory."""
    return {name: Ledger(results / "olio" / f"{name}.csv", columns) for name, columns in COLUMNS.items()}


def write(found: dict[str, Ledger]) -> str:
    """The whole page."""
    data, comparisons = found["data"].rows(), found["comparisons"].rows()
    dates = sorted({row["at"][:10] for row in data + comparisons})
    of_data = table(["users", "seconds", "bar", "database", "media and statics", "built as", "beside", "at"], [_of_data(row) for row in data], numbers=True)
    # A comparison has a row for each of its servers.
    first = [row for at, row in enumerate(comparisons) if at % 2 == 0]
    head = ["command", "took", f"bar: {MOST_MINUTES} min", "verdict", "ratio (interval)", "built as", "beside", "at"]
    answers = table(head, [_of_comparison(row) for row in first])
    head = ["server", "users", "CPU time an operation", *PARTS, "users a core", "memory", "valid trials"]
    parts = table(head, [_of_server(row) for row in comparisons], numbers=True)
    return f"""# Olio: its data, and its implementations compared

{plural(len(data), "load")} of data and {plural(len(first), "comparison")} by `make bench-olio` ({", ".join(dates) or "none yet"}). The series continues with the same command.
*Built as* is how `showdown` and `olio` were built. PHP, Ruby, Java, MariaDB, memcached and nginx are the distribution's; the reference in Rust is not worth a comparison in a debug build.
`workloads/olio/README.md` says what is compared and how the implementations are proved equal. The rows are in `olio/`.

## Data

Rows, media and statics, from nothing to a database directory that is ready to be copied. Each start of a server copies it.

{of_data}

## Comparisons

CPU time an operation, at the rate that the pacing of the users gives. After each trial, 100 pages were compared with those of the reference on the same tables.

{answers}

## CPU time by part

Microseconds an operation of the users, which is about 15 requests. *Users a core* is what the server's CPU time leaves room for; it is no knee.

{parts}
"""


def _of_data(row: dict[str, str]) -> list[str]:
    most = MOST_SECONDS[int(row["rows"])]
    is_met = float(row["seconds"]) <= most
    return [row["rows"], row["seconds"], f"at most {most} s: {'met' if is_met else '**not met**'}", f"{row['database_mb']} MB", f"{row['assets_mb']} MB", row["builds"], row["beside"], row["at"]]


def _of_comparison(row: dict[str, str]) -> list[str]:
    ratio = f"{row['a']} / {row['b']}: {row['ratio']} ({row['low']} to {row['high']})" if row["ratio"] else "–"
    minutes = float(row["seconds"]) / 60
    bar = "met" if minutes <= MOST_MINUTES else "**not met**"
    if "--blocks" in row["command"]:
        bar = "– (fewer blocks)"
    return [f"`{row['command']}`", f"{minutes:.1f} min", bar, row["verdict"], ratio, row["builds"], row["beside"], row["at"]]


def _of_server(row: dict[str, str]) -> list[str]:
    parts = [f"{float(row[f'{part}_us']):,.0f}" if row[f"{part}_us"] else "–" for part in PARTS]
    users = f"{float(row['users_per_core']):,.0f}" if row["users_per_core"] else "–"
    cpu = f"{float(row['cpu_us']):,.0f} µs" if row["cpu_us"] else "–"
    return [row["server"], row["users"], cpu, *parts, users, f"{row['memory_mb']} MB", f"{row['valid']} of {int(row['valid']) + int(row['invalid'])}"]
