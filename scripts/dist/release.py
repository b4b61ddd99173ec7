"""What is packed: the files of a release, by their paths below a prefix such as `/usr/local`."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import sbom
from .dependencies import Dependencies

ARCHITECTURES = ("x86_64", "aarch64")

DOCUMENTS = "share/doc/showdown"
PROGRAMS = {"showdown": "showdown", "showdown-harness": "harness", "olio": "olio"}
"""The crate of each. The first gives the release its name; the second is what `showdown serve` starts, olio what its workload starts."""
PROGRAM_FOLDER = "bin/"
PAGES = ("README.md", "llms.txt", "CHANGELOG.md", "SECURITY.md", "docs/*.md", "docs/*.png", "docs/recipes/*.md", "docs/pictures/*")
"""What users read, as help, messages and scaffolds name it. Results and decisions are for those who have the repository."""
ZSH = "share/zsh/site-functions/_showdown"


@dataclass(frozen=True)
class Release:
    """The programs with all that belongs to them."""

    version: str
    architecture: str
    commit_time: int
    """Seconds since 1970: the time of every file."""
    files: dict[str, bytes]
    """By their paths below a prefix, sorted."""

    @property
    def stem(self) -> str:
        """What the names of archives begin with."""
        return f"showdown-{self.version}-linux-{self.architecture}"

    @classmethod
    def of(cls, root: Path, programs: dict[str, Path], runs_here: Path, scratch: Path, architecture: str, commit_time: int,
           dependencies: Dependencies) -> Release:
        """Collects the files. `runs_here` is a showdown that prints completions and manual pages, which are the same for every architecture."""
        installed = scratch / "installed"
        script = root / "scripts/install-showdown"
        subprocess.run([script, runs_here.resolve(), "/prefix", installed], check=True, stdout=subprocess.DEVNULL)
        prefix = installed / "prefix"
        files = {str(path.relative_to(prefix)): path.read_bytes() for path in prefix.rglob("*") if path.is_file()}
        # What lies beside `runs_here` may be of another architecture.
        files = {path: content for path, content in files.items() if not path.startswith(PROGRAM_FOLDER)}
        files |= {f"{PROGRAM_FOLDER}{name}": program.read_bytes() for name, program in programs.items()}
        files |= {f"{DOCUMENTS}/{page.relative_to(root)}": page.read_bytes() for pattern in PAGES for page in root.glob(pattern)}
        for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
            files[f"{DOCUMENTS}/{licence}"] = (root / licence).read_bytes()
        files[f"{DOCUMENTS}/LICENSES-OF-DEPENDENCIES"] = dependencies.licences().encode()
        files[f"{DOCUMENTS}/sbom.cdx.json"] = sbom.of(dependencies, commit_time).encode()
        return cls(dependencies.program.version, architecture, commit_time, dict(sorted(files.items())))


def mode_of(path: str) -> int:
    """The permissions of a file of a release."""
    return 0o755 if path.startswith(PROGRAM_FOLDER) else 0o644
