"""What each tuning gained in the searches of real servers, beside what others have published of it (`expected` of its rule)."""

from __future__ import annotations

import tomllib
from functools import cache

from shared.markdown import plural
from shared.whole_run import REPOSITORY

COLUMNS = "at commit search tuning settings outcome own low high screened blocks why".split()
NOT_TRIED = "not tried"
Rows = list[dict[str, str]]


def of_record(search: str, record: dict, at: str, commit: str) -> list[dict[str, object]]:
    """A row of each tuning that was tried, of each weaker one, and of each that was not tried."""
    common = {"at": at, "commit": commit, "search": search}
    rows = []
    for one in record.get("tried", []) + record.get("weaker", []):
        own = one.get("own") or {}
        figures = {"own": own.get("ratio"), "low": own.get("low"), "high": own.get("high"), "screened": one.get("screened")}
        shown = {name: f"{figure:.4f}" if figure else "" for name, figure in figures.items()}
        settings = ",".join(f"{name}={value}" for name, value in one["settings"].items())
        told = {name: one[name] for name in ("tuning", "outcome", "blocks", "why")}
        rows.append({**common, **told, "settings": settings, **shown})
    for one in record.get("not_tried", []):
        rows.append(dict.fromkeys(COLUMNS, "") | common | {"tuning": one["tuning"], "outcome": NOT_TRIED, "why": one["why"]})
    return rows


@cache
def published() -> dict[str, dict]:
    """What has been published, by the name of the tuning."""
    rules = {path.stem: tomllib.loads(path.read_text()) for path in sorted((REPOSITORY / "tunings").glob("*.toml"))}
    return {name: rule["expected"] for name, rule in rules.items() if "expected" in rule}


def newest(rows: Rows) -> Rows:
    """The rows of the newest search of each server."""
    last = {row["search"]: row["at"] for row in sorted(rows, key=lambda row: row["at"])}
    return [row for row in rows if row["at"] == last[row["search"]]]


def tried(rows: Rows) -> list[list[str]]:
    """A line of each setting with a published gain and each search: what was measured here, and why it was kept or not."""
    known = published()
    lines = []
    for row in sorted(_of_published(rows), key=lambda row: (row["tuning"], row["settings"])):
        if row["outcome"] != NOT_TRIED:
            expected = known[row["tuning"]]
            lines.append([row["tuning"], row["settings"], _range(expected), row["search"], _measured(row), _seen(row), row["why"]])
    return lines


def not_tried(rows: Rows) -> list[list[str]]:
    """A line of each tuning with a published gain and each reason for which it was not tried, with the searches that gave it."""
    was_tried = {(row["search"], row["tuning"]) for row in rows if row["outcome"] != NOT_TRIED}
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in _of_published(rows):
        # Of a tuning with several levels, some may have been tried.
        if row["outcome"] == NOT_TRIED and (row["search"], row["tuning"]) not in was_tried:
            searches = reasons.setdefault((row["tuning"], row["why"]), [])
            if row["search"] not in searches:
                searches.append(row["search"])
    return [[tuning, ", ".join(searches), why] for (tuning, why), searches in sorted(reasons.items())]


def sources() -> list[list[str]]:
    """A line of each published gain: who found it, and on what."""
    lines = []
    for tuning, expected in published().items():
        told = [expected["source"], *(str(expected[key]) for key in ("hardware", "year") if key in expected)]
        lines.append([tuning, _range(expected), ", ".join(told)])
    return lines


def _of_published(rows: Rows) -> Rows:
    known = published()
    return [row for row in rows if row["tuning"] in known]


def _range(expected: dict) -> str:
    return f"{expected['low']:g}–{expected['high']:g} ×" if expected["low"] > 1 else f"up to {expected['high']:g} ×"


def _measured(row: dict[str, str]) -> str:
    if row["own"]:
        return f"{float(row['own']):.3f} × ({float(row['low']):.3f}–{float(row['high']):.3f})"
    return f"{float(row['screened']):.3f} × in {plural(int(row['blocks']), 'block')}" if row["screened"] else "–"


def _seen(row: dict[str, str]) -> str:
    """A gain is seen where it was kept, or is certain: a tuning that weakens durability is never kept."""
    if row["outcome"] == NOT_TRIED:
        return NOT_TRIED
    return "yes" if row["outcome"] == "kept" or (row["low"] and float(row["low"]) > 1) else "no"
