"""A comparison of two implementations: a row for each of the two, with what is known of both in each."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

from shared.showdown import ask

PARTS = ("web", "application", "database", "cache", "geocoder")
"""The processes of a server."""


def measure(showdown: Path, pair: tuple[str, str], options: list[str], users: int) -> list[dict[str, object]]:
    """Compares the two at this number of users."""
    arguments = ["compare", *pair, "--users", str(users), *options]
    with tempfile.TemporaryDirectory() as directory:
        began = time.monotonic()
        answer = json.loads(ask(showdown.resolve(), [*arguments, "--format", "json", "--progress", "none"], Path(directory)))
        seconds = time.monotonic() - began
    [comparison] = answer["comparisons"]
    estimate = comparison["estimate"] or {"ratio": "", "low": "", "high": ""}
    of_both = {
        "command": " ".join(arguments),
        "users": users,
        "seconds": round(seconds),
        "a": comparison["a"],
        "b": comparison["b"],
        "verdict": comparison["verdict"]["outcome"],
        **{name: rounded(estimate[name], 4) for name in ("ratio", "low", "high")},
    }
    return [of_both | _variant(variant) for variant in answer["variants"]]


def _variant(variant: dict) -> dict[str, object]:
    parts = {part["part"]: part for part in variant.get("parts", [])}
    return {
        "server": variant["name"],
        "valid": variant["valid"],
        "invalid": variant["invalid"],
        "cpu_us": rounded(variant["median"], 1),
        "users_per_core": rounded(variant.get("users_per_core"), 0),
        **{f"{name}_us": rounded(parts[name]["cpu_us"], 1) if name in parts else "" for name in PARTS},
        "memory_mb": round(sum(part["peak_rss_bytes"] for part in parts.values()) / 1e6),
    }


def rounded(value: object, digits: int) -> object:
    """A figure that may be missing."""
    return "" if value in (None, "") else round(float(value), digits)
