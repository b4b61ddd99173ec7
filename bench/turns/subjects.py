"""The pairs of different servers, and the two ways to compare them. Running them is left to `__main__`."""

from __future__ import annotations

import tomllib

from aa.subjects import CLOSED, POINT_SELECT, Subject

IN_TURNS, ALONE = "in turns", "alone"
"""How the servers of a block are loaded: in slices of some 50 ms that alternate, or one after the other for seconds."""

GET_1K = ("--on-op", "get-1k")
ALONE_BLOCKS = 12
"""Blocks of a comparison of servers that run alone. Its blocks scatter more."""


def _pair(first: str, second: str, workload: str, on: tuple[str, ...]) -> Subject:
    # Nobody knows the true ratio: what is tested is that both ways find the same.
    return Subject(f"{first}-{second}", (first, second), workload, float("nan"), (*CLOSED, *on), f"{first} / {second}, {on[-1]}")


PAIRS = [
    _pair("nginx", "apache", "static-web", GET_1K),
    _pair("h2o", "nginx", "static-web", GET_1K),
    _pair("mariadb", "postgres", "oltp", POINT_SELECT),
]


def alone(plan: str) -> str:
    """The plan of a comparison in turns, in TOML, with the same servers one at a time."""
    lines, inside = [], False
    for line in plan.splitlines():
        if line.startswith("["):
            inside = line == "[turns]"
        if not inside:
            lines.append(line)
    text = "\n".join(lines) + "\n"
    if "turns" not in tomllib.loads(plan) or "turns" in tomllib.loads(text):
        raise ValueError("a plan without [turns] is alone already")
    return text
