"""A tar that unpacks into any prefix: `tar xf showdown-….tar.gz -C ~/.local --strip-components=1`."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

from .release import Release, mode_of


def make(release: Release, out: Path) -> Path:
    """Writes it; returns its path."""
    package = out / f"{release.stem}.tar.gz"
    with package.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as compressed:
        with tarfile.open(fileobj=compressed, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for path, content in release.files.items():
                member = tarfile.TarInfo(f"{release.stem}/{path}")
                member.size, member.mode, member.mtime = len(content), mode_of(path), release.commit_time
                tar.addfile(member, io.BytesIO(content))
    return package
