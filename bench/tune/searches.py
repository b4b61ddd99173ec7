"""One search by `showdown tune` as a row. What the rows mean is left to the page."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

from shared import series
from shared.showdown import NoAnswer, ask

from . import rules

COLUMNS = "at commit search seconds sentence kept tried not_tried ratio low high error metric".split()
WORKLOAD = Path(__file__).resolve().parent / "known/workload.toml"


@dataclass(frozen=True)
class Search:
    """A kind of search."""

    name: str
    arguments: tuple[str, ...]
    time: str


PLANTED = Search("planted", (rules.SLOWED, "--workload", str(WORKLOAD), "--measure", "throughput"), "10m")
BEST = Search("at-its-best", (rules.AT_ITS_BEST, "--workload", str(WORKLOAD), "--measure", "throughput"), "10m")
SERVERS = [
    Search("nginx", ("nginx",), "20m"),
    Search("apache", ("apache",), "20m"),
    Search("mariadb-reads", ("mariadb", "--on-op", "point-select"), "20m"),
    Search("mariadb-writes", ("mariadb", "--on-op", "update-index", "--allow", "durability"), "20m"),
    Search("postgres", ("postgres", "--allow", "durability"), "20m"),
    Search("memcached", ("memcached",), "20m"),
    Search("postfix", ("postfix",), "20m"),
]
ALL = [PLANTED, BEST, *SERVERS]


def run(showdown: Path, search: Search, work: Path, time_of_each: str | None) -> tuple[dict, str, float]:
    """Searches once: the record, which is empty after a failure, the message of the failure, and the seconds that it took."""
    arguments = ["tune", *search.arguments, "--for", time_of_each or search.time, "--format", "json", "--progress", "none"]
    if search in (PLANTED, BEST):
        planted = list(rules.PLANTED) if search == PLANTED else []
        arguments += ["--rules", str(rules.write(work / "rules"))]
        arguments += [f"--only={name}" for name in [*planted, *rules.PLACEBOS]]
    began = time.monotonic()
    try:
        record, error = json.loads(ask(showdown, arguments, work)), ""
    except NoAnswer as failure:
        record, error = {}, " ".join(str(failure).split())
    return record, error, time.monotonic() - began


def row(search: Search, record: dict, error: str, commit: str, seconds: float) -> dict[str, object]:
    """The row of a search with this record, which is empty after a failure."""
    headline = record.get("headline") or {}
    tried = record.get("tried", [])
    return {
        "at": series.now(),
        "commit": commit,
        "search": search.name,
        "seconds": round(seconds, 1),
        "sentence": record.get("sentence", ""),
        "kept": " ".join(sorted({one["tuning"] for one in tried if one["outcome"] == "kept"})),
        "tried": len(tried),
        "not_tried": len(record.get("not_tried", [])),
        **{key: f"{headline[key]:.5f}" if headline else "" for key in ("ratio", "low", "high")},
        "error": error,
        "metric": record.get("metric", ""),
    }
