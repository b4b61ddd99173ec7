"""A .deb, by dpkg-deb(1). It needs no other package, starts nothing, and leaves nothing when it is removed."""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

from .release import DOCUMENTS, ZSH, Release, mode_of

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

DESCRIPTION = """compare servers and settings under real load
 Showdown starts real servers, loads them from one engine, interleaves the trials,
 checks every measurement, and reports which is better, by how much, and how sure
 that is."""


def make(release: Release, out: Path) -> Path:
    """Writes it; returns its path."""
    architecture = ARCHITECTURES[release.architecture]
    package = out / f"showdown_{release.version}_{architecture}.deb"
    with tempfile.TemporaryDirectory() as directory:
        tree = Path(directory) / "tree"
        files = {f"usr/{debian_path(path)}": debian_content(path, content) for path, content in release.files.items()}
        for path, content in files.items():
            write(tree / path, content, mode_of(path.removeprefix("usr/")))
        sums = "".join(f"{hashlib.md5(content, usedforsecurity=False).hexdigest()}  {path}\n" for path, content in sorted(files.items()))
        write(tree / "DEBIAN/md5sums", sums.encode(), 0o644)
        write(tree / "DEBIAN/control", control(release, architecture, files).encode(), 0o644)
        for path in tree.rglob("*"):
            if path.is_dir():
                path.chmod(0o755)
        tree.chmod(0o755)
        # dpkg-deb gives what is newer the time of SOURCE_DATE_EPOCH.
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(release.commit_time)}
        command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", tree, package]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return package


def control(release: Release, architecture: str, files: dict[str, bytes]) -> str:
    """The fields of the package."""
    size = sum(len(content) for content in files.values()) // 1024 + 1
    fields = {
        "Package": "showdown",
        "Version": release.version,
        "Architecture": architecture,
        "Maintainer": "The maintainers of Showdown",
        "Installed-Size": size,
        "Suggests": "openssh-client, nginx, apache2",
        "Section": "utils",
        "Priority": "optional",
        "Description": DESCRIPTION,
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def debian_path(path: str) -> str:
    """Where Debian has a file of a release."""
    if path == ZSH:
        return "share/zsh/vendor-completions/_showdown"
    return f"{path}.gz" if path.startswith("share/man/") else path


def debian_content(path: str, content: bytes) -> bytes:
    """What Debian has in it: manual pages are compressed."""
    return gzip.compress(content, mtime=0) if path.startswith("share/man/") else content


def write(path: Path, content: bytes, mode: int) -> None:
    """Writes a file of the package."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
