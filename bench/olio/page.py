"""Rows to Markdown: docs/results/olio.md."""

from __future__ import annotations

from pathlib import Path

from shared.ledger import Ledger
from shared.markdown import plural, table

from .compared import PARTS
from .knee import knee

OF_ALL = "at commit builds beside".split()
COLUMNS = {
    "data": [*OF_ALL, *"rows seconds database_mb assets_mb same".split()],
    "comparisons": [*OF_ALL, *"command users seconds a b verdict ratio low high server valid invalid cpu_us users_per_core".split()]
    + [f"{part}_us" for part in PARTS]
    + ["memory_mb"],
    "knees": [*OF_ALL, *"server machine users passes valid invalid mix_and_cycles reasons cpu_us users_per_core".split()]
    + [f"{part}_us" for part in PARTS]
    + ["cores", "limited_by"],
}
MOST_SECONDS = {100: 15, 1_000: 90}
"""The bars of the data."""
MOST_MINUTES = {"quick": 6, "default": 40}
"""The bars of a comparison of 100 users."""

Rows = list[dict[str, str]]


def ledgers(results: Path) -> dict[str, Ledger]:
    """The raw figures below this directory."""
    return {name: Ledger(results / "olio" / f"{name}.csv", columns) for name, columns in COLUMNS.items()}


def users_per_core(found: dict[str, Ledger], server: str) -> float | None:
    """What the last comparison or sweep of a server says; none without one."""
    known = [row for ledger in ("comparisons", "knees") for row in found[ledger].rows() if row["server"] == server and row["users_per_core"]]
    return float(max(known, key=lambda row: row["at"])["users_per_core"]) if known else None


def write(found: dict[str, Ledger], results: Path) -> str:
    """The whole page."""
    data, comparisons, points = (found[name].rows() for name in ("data", "comparisons", "knees"))
    dates = sorted({row["at"][:10] for row in data + comparisons + points})
    of_data = table(["users", "seconds", "bar", "database", "media and statics", "equal twice", "built as", "beside", "at"], [_of_data(row) for row in data], numbers=True)
    # A comparison has a row for each of its servers.
    first = [row for at, row in enumerate(comparisons) if at % 2 == 0]
    head = ["command", "took", "bar", "verdict", "ratio (interval)", "built as", "beside", "at"]
    answers = table(head, [_of_comparison(row) for row in first])
    head = ["server", "users", "CPU time an operation", *PARTS, "users a core", "memory", "valid trials"]
    parts = table(head, [_of_server(row) for row in comparisons], numbers=True)
    of_points = table(["server", "users", "passes", "mix and cycles", "invalid because of", "CPU time an operation", *PARTS, "cores"], [_of_point(row) for row in points])
    of_knees = table(["server", "knee", "on", "what `explain` names there", "built as", "beside", "at"], [_of_knee(rows) for rows in _sweeps(points)])
    proofs = "\n".join(f"- [{path.stem}](olio/{path.name}): {path.read_text().splitlines()[-1]}" for path in sorted((results / "olio").glob("prove-*.txt")))
    return f"""# Olio: its data, and its implementations compared

{plural(len(data), "load")} of data, {plural(len(first), "comparison")} and {plural(len(_sweeps(points)), "sweep")} by `make bench-olio` ({", ".join(dates) or "none yet"}). The series continues with the same command.
*Built as* is how `showdown` and `olio` were built. PHP, Ruby, Java, MariaDB, memcached and nginx are the distribution's; the reference in Rust is not worth a comparison in a debug build.
`workloads/olio/README.md` says what is compared and how the implementations are proved equal. The rows are in `olio/`.

## Data

Rows, media and statics, from nothing to a database directory that is ready to be copied. Each start of a server copies it. They are made twice: the time is that of the
slower one, and *equal twice* says whether the checksums of all tables and of the media are the same.

{of_data}

## Comparisons

CPU time an operation, at the rate that the pacing of the users gives. After each trial, 100 pages were compared with those of the reference on the same tables.

{answers}

## CPU time by part

Microseconds an operation of the users, which is about 15 requests. *Users a core* is what the server's CPU time leaves room for; it is no knee.

{parts}

## Knees

The most users with whom an implementation still passes: more than half of the trials are valid, and the mix and the cycles of the users are as declared in all of them.
The points are a quarter to 120 % of the users that its CPU time leaves room for.

{of_knees if points else "Not measured yet: `make bench-olio OLIO_OPTIONS='--only knees --minutes 120'`."}

{of_points if points else ""}

## Proofs

What `olio prove` says of each implementation.

{proofs or "Not saved yet: `make bench-olio OLIO_OPTIONS='--only prove --minutes 5'`."}
"""


def _of_data(row: dict[str, str]) -> list[str]:
    most = MOST_SECONDS[int(row["rows"])]
    is_met = float(row["seconds"]) <= most
    return [row["rows"], row["seconds"], f"at most {most} s: {'met' if is_met else '**not met**'}", f"{row['database_mb']} MB", f"{row['assets_mb']} MB", row["same"] or "–", row["builds"], row["beside"], row["at"]]


def _of_comparison(row: dict[str, str]) -> list[str]:
    ratio = f"{row['a']} / {row['b']}: {row['ratio']} ({row['low']} to {row['high']})" if row["ratio"] else "–"
    minutes = float(row["seconds"]) / 60
    most = MOST_MINUTES["quick" if "--quick" in row["command"] else "default"]
    bar = f"at most {most} min: {'met' if minutes <= most else '**not met**'}"
    if "--blocks" in row["command"]:
        bar = "– (fewer blocks)"
    return [f"`{row['command']}`", f"{minutes:.1f} min", bar, row["verdict"], ratio, row["builds"], row["beside"], row["at"]]


def _sweeps(points: Rows) -> list[Rows]:
    """The points of each sweep."""
    sweeps: dict[tuple[str, str], Rows] = {}
    for row in points:
        sweeps.setdefault((row["at"], row["server"]), []).append(row)
    return list(sweeps.values())


def _of_knee(rows: Rows) -> list[str]:
    last, first = knee(rows), rows[0]
    most = max(int(row["users"]) for row in rows)
    users = "no point passes" if last is None else f"{int(last['users']):,} users"
    if last is not None and int(last["users"]) == most:
        users += " or more"
    why = last["limited_by"] if last else ""
    return [first["server"], users, first["machine"], why or "–", first["builds"], first["beside"], first["at"]]


def _of_point(row: dict[str, str]) -> list[str]:
    return [row["server"], row["users"], row["passes"], row["mix_and_cycles"], row["reasons"] or "–", *_cpu(row), row["cores"] or "–"]


def _cpu(row: dict[str, str]) -> list[str]:
    """CPU time of an operation, and of each part."""
    parts = [f"{float(row[f'{part}_us']):,.0f}" if row[f"{part}_us"] else "–" for part in PARTS]
    return [f"{float(row['cpu_us']):,.0f} µs" if row["cpu_us"] else "–", *parts]


def _of_server(row: dict[str, str]) -> list[str]:
    users = f"{float(row['users_per_core']):,.0f}" if row["users_per_core"] else "–"
    return [row["server"], row["users"], *_cpu(row), users, f"{row['memory_mb']} MB", f"{row['valid']} of {int(row['valid']) + int(row['invalid'])}"]
