"""Links of Markdown that lead nowhere: files that are missing, and headings that no page has. A heading's address is GitHub's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")


def documents(root: Path) -> list[Path]:
    """The pages: those of the root, and all below docs."""
    return sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")])


def anchors(text: str) -> set[str]:
    """The addresses of the headings of a page, and names that it gives to places."""
    found: set[str] = set(re.findall(r'<a (?:id|name)="([^"]+)"', text))
    for heading in re.findall(r"^#{1,6} +(.*?)\s*$", FENCE.sub("", text), re.MULTILINE):
        address = anchor(heading)
        number = 0
        while (address if number == 0 else f"{address}-{number}") in found:
            number += 1
        found.add(address if number == 0 else f"{address}-{number}")
    return found


def anchor(heading: str) -> str:
    """The address of a heading: lower case, without punctuation, a hyphen for each blank."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")


def slug(heading: str, _separator: str) -> str:
    """The same for mkdocs, whose own addresses differ from GitHub's."""
    return anchor(heading)


def links(text: str) -> Iterator[str]:
    """The targets of links that are no addresses of the network."""
    for match in LINK.finditer(CODE.sub("", FENCE.sub("", text))):
        target = match.group(3)
        if "://" not in target and not target.startswith("mailto:"):
            yield target


def dead(root: Path) -> list[str]:
    """Each dead link, with its page."""
    known: dict[Path, set[str]] = {}
    found = []
    for page in documents(root):
        for target in links(page.read_text()):
            path, _, place = target.partition("#")
            to = (page.parent / path).resolve() if path else page
            if not to.exists():
                found.append(f"{page.relative_to(root)}: {target}")
            elif place and to.suffix == ".md":
                if to not in known:
                    known[to] = anchors(to.read_text())
                if place not in known[to]:
                    found.append(f"{page.relative_to(root)}: {target}: no such heading")
    return found
