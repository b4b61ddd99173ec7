"""What can be measured, by name and by group, with the time that each takes on a quiet machine."""

from __future__ import annotations

from dataclasses import dataclass

DATA = {"data-100": 100, "data-1000": 1_000}
"""The data of so many users."""
PAIRS = {"php-rails": ("olio-php", "olio-rails"), "php-java": ("olio-php", "olio-java"), "rust-php": ("olio-rust", "olio-php")}
"""Implementations that are compared."""
IMPLEMENTATIONS = ("php", "rails", "java", "rust")


@dataclass(frozen=True)
class Piece:
    """One measurement: its group, what it is about, and how long it takes."""

    group: str
    subject: str
    minutes: float


PIECES = (
    {name: Piece("data", name, rows / 200) for name, rows in DATA.items()}
    | {f"quick-{pair}": Piece("quick", pair, 6) for pair in PAIRS}
    | {f"default-{pair}": Piece("default", pair, 40) for pair in PAIRS}
    | {f"knee-{name}": Piece("knees", name, 30) for name in IMPLEMENTATIONS}
    | {f"prove-{name}": Piece("prove", name, 2) for name in IMPLEMENTATIONS}
)
GROUPS = tuple(dict.fromkeys(piece.group for piece in PIECES.values()))


def named(names: list[str]) -> list[str]:
    """The pieces of these names and groups, each once."""
    found = (piece for name in names for piece in PIECES if name in (piece, PIECES[piece].group))
    return list(dict.fromkeys(found))
