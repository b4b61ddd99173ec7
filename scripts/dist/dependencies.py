"""The crates that the programs of a release contain, from `cargo metadata`, with the texts of their licences.

Build scripts, macros and what only tests need are no part of a program. Their crates are left out, unless a program contains
them for another reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

LICENCE_NAMES = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")


@dataclass(frozen=True)
class Crate:
    """A crate of the program."""

    name: str
    version: str
    licence: str
    """An SPDX expression; empty where the crate has a file only."""
    is_own: bool
    """Whether it is a part of this project."""
    folder: Path

    def licence_texts(self) -> dict[str, str]:
        """The files of its folder that are about its licence, by name."""
        files = sorted(path for path in self.folder.iterdir() if path.is_file() and path.name.upper().startswith(LICENCE_NAMES))
        return {path.name: path.read_text(errors="replace").strip() + "\n" for path in files}


@dataclass(frozen=True)
class Dependencies:
    """The programs of a release and the crates in them, by name and version."""

    program: Crate
    """The one that the release is named after."""
    crates: tuple[Crate, ...]
    uses: dict[str, tuple[str, ...]]
    """The crates that each uses, all as `name@version`."""

    @classmethod
    def of(cls, metadata: dict[str, Any], programs: tuple[str, ...]) -> Dependencies:
        """The crates of these programs, named by their own crates, in the output of `cargo metadata`. All programs but the first are listed, too."""
        packages = {package["id"]: package for package in metadata["packages"]}
        members = set(metadata["workspace_members"])
        nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
        roots = [next(identity for identity in members if packages[identity]["name"] == program) for program in programs]
        uses: dict[str, tuple[str, ...]] = {}
        found: dict[str, Crate] = {}
        waiting = list(roots)
        while waiting:
            identity = waiting.pop()
            if identity in found:
                continue
            package = packages[identity]
            found[identity] = Crate(package["name"], package["version"], package.get("license") or "", identity in members,
                                    Path(package["manifest_path"]).parent)
            used = [dependency["pkg"] for dependency in nodes[identity]["deps"]
                    if any(kind["kind"] is None for kind in dependency["dep_kinds"]) and not is_macro(packages[dependency["pkg"]])]
            uses[identity] = tuple(used)
            waiting.extend(used)
        crates = sorted((crate for identity, crate in found.items() if identity != roots[0]), key=lambda crate: (crate.name, crate.version))
        named = {key_of(found[identity]): tuple(sorted(key_of(found[other]) for other in used)) for identity, used in uses.items()}
        return cls(found[roots[0]], tuple(crates), dict(sorted(named.items())))

    def licences(self) -> str:
        """The licences of the crates of others: which crate has which, and each text once."""
        crates_of: dict[str, list[str]] = {}
        table = []
        for crate in self.crates:
            if crate.is_own:
                continue
            table.append(f"{crate.name} {crate.version}: {crate.licence or 'see its text below'}")
            for name, text in crate.licence_texts().items():
                crates_of.setdefault(text, []).append(f"{crate.name} {crate.version} ({name})")
        texts = sorted(crates_of.items(), key=lambda item: item[1])
        line = "-" * 80
        parts = [f"{line}\n{', '.join(crates)}\n{line}\n\n{text}" for text, crates in texts]
        head = "showdown, showdown-harness and olio contain these crates of others, under these licences. Their texts follow."
        return "\n".join([head, "", *table, "", *parts])


def is_macro(package: dict[str, Any]) -> bool:
    """Whether a crate runs in the compiler only."""
    return any("proc-macro" in target["kind"] for target in package["targets"])


def key_of(crate: Crate) -> str:
    """What tells a crate from all others of a program."""
    return f"{crate.name}@{crate.version}"
