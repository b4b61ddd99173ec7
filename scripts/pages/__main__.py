"""The command line: `PYTHONPATH=scripts python3 -m pages DIRECTORY`. It makes the pictures anew, checks the links, and builds the site."""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
from pathlib import Path

from . import links, pictures

ROOT = Path(__file__).resolve().parents[2]

GUIDES = {
    "Begin": ["README.md", "docs/START.md"],
    "Reference": ["docs/COMMANDS.md", "docs/WORKLOAD.md", "docs/SCENARIOS.md", "docs/BYOD.md", "docs/FORMATS.md", "docs/FIGURES.md", "docs/GLOSSARY.md", "docs/LIMITS.md", "docs/HARNESS.md", "docs/LIVE-TRAFFIC.md", "docs/SCALE.md"],
    "Explanation": ["docs/METHODOLOGY.md", "docs/BIAS.md", "docs/COST.md", "docs/SECURITY.md"],
    "If it fails": ["docs/TROUBLESHOOTING.md"],
    "Develop": ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"],
}
FOLDERS = {"How to": "docs/recipes", "Results": "docs/results", "Decisions": "docs/decisions"}


def main() -> int:
    """Builds the site; returns the exit code."""
    out = Path(sys.argv[1]).resolve()
    pictures.main()
    dead = links.dead(ROOT)
    if dead:
        print("docs: dead links:", *dead, sep="\n  ", file=sys.stderr)
        return 1
    if shutil.which("mkdocs") is None:
        print("docs: mkdocs is missing: run  scripts/install-packages docs", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / "pages"
        stage(source)
        (Path(directory) / "mkdocs.yml").write_text(configuration())
        inside = {**os.environ, "PYTHONPATH": str(ROOT / "scripts")}
        subprocess.run(["mkdocs", "build", "--quiet", "--site-dir", out], cwd=directory, env=inside, check=True)
    dead = dead_in(out)
    if dead:
        print("docs: dead links of the site:", *dead, sep="\n  ", file=sys.stderr)
        return 1
    shutil.copy(ROOT / "llms.txt", out / "llms.txt")
    print(out / "index.html")
    return 0


def stage(source: Path) -> None:
    """Copies pages and pictures. A link to what is no page keeps its text only."""
    for page in links.documents(ROOT):
        to = source / page.relative_to(ROOT)
        to.parent.mkdir(parents=True, exist_ok=True)
        text = links.LINK.sub(lambda match: kept(page, match), page.read_text())
        # Its lists are nested by four blanks.
        to.write_text(re.sub(r"^(  )+- ", lambda match: match.group(0)[:-2] * 2 + "- ", text, flags=re.MULTILINE))
    for picture in [*(ROOT / "docs").rglob("*.svg"), *(ROOT / "docs").rglob("*.png")]:
        to = source / picture.relative_to(ROOT)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(picture, to)


def kept(page: Path, match: re.Match[str]) -> str:
    """A link as it is, or its text where its target is not in the site."""
    target, _, place = match.group(3).partition("#")
    if not target and place and place not in own_addresses(page):
        # A second heading of one name has another address there.
        second = re.sub(r"-([0-9]+)$", r"_\1", place)
        return f"[{match.group(2)}](#{second})"
    if "://" in target or target == "" or Path(target).suffix in (".md", ".svg", ".png"):
        return match.group(0)
    return match.group(2) if (page.parent / target).exists() else match.group(0)


def own_addresses(page: Path) -> set[str]:
    """Those of its headings, as if each name was the only one."""
    return {links.anchor(line.lstrip("# ")) for line in page.read_text().splitlines() if line.startswith("#")}


def dead_in(site: Path) -> list[str]:
    """Links of the site that lead nowhere."""
    # That of a missing page has addresses of a server.
    texts = {page: page.read_text() for page in site.rglob("*.html") if page.name != "404.html"}
    places = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in texts.items()}
    found = []
    for page, text in texts.items():
        for target in re.findall(r'href="([^"]+)"', text):
            path, _, place = html.unescape(target).partition("#")
            if "://" in path or path.startswith(("//", "mailto:")):
                continue
            to = (page.parent / path).resolve() if path else page
            to = to / "index.html" if to.is_dir() else to
            if not to.exists() or (place and to in places and urllib.parse.unquote(place) not in places[to]):
                found.append(f"{page.relative_to(site)}: {target}")
    return found


def configuration() -> str:
    """mkdocs' own file: the pages by what a reader wants."""
    lines = ["site_name: Showdown", "docs_dir: pages", "theme: readthedocs", "use_directory_urls: false", "plugins: [search]",
             "markdown_extensions: [tables, fenced_code, {toc: {permalink: true, slugify: !!python/name:pages.links.slug }}]", "nav:"]
    for title, pages in GUIDES.items():
        lines += [f"  - {title}:", *(f"    - {page}" for page in pages)]
        if title == "Begin":
            lines += folder("How to")
    for title in ("Results", "Decisions"):
        lines += folder(title)
    return "\n".join(lines) + "\n"


def folder(title: str) -> list[str]:
    """The pages of a folder, its README first."""
    pages = sorted((ROOT / FOLDERS[title]).glob("*.md"), key=lambda page: (page.name != "README.md", page.name))
    return [f"  - {title}:", *(f"    - {page.relative_to(ROOT)}" for page in pages)]


if __name__ == "__main__":
    sys.exit(main())
