"""A Python wheel that carries the programs: `pip install showdown-….whl` puts them on the path of the environment.

The format is https://packaging.python.org/en/latest/specifications/binary-distribution-format/.
"""

from __future__ import annotations

import base64
import hashlib
import time
import zipfile
from pathlib import Path

from .release import DOCUMENTS, PROGRAM_FOLDER, Release, mode_of

METADATA = """Metadata-Version: 2.1
Name: showdown
Version: {version}
Summary: Compare servers and settings under real load
License: MIT OR Apache-2.0
Platform: linux
"""

PAGE_ENDINGS = (".md", ".txt", ".png", ".svg")

# A static program runs with every C library, and no older platform is named that pip still knows.
TAG = "py3-none-manylinux_2_17_{0}.manylinux2014_{0}.musllinux_1_1_{0}"


def make(release: Release, out: Path) -> Path:
    """Writes it; returns its path."""
    name = f"showdown-{release.version}"
    tag = TAG.format(release.architecture)
    python, abi, platforms = tag.split("-")
    tags = "".join(f"Tag: {python}-{abi}-{platform}\n" for platform in platforms.split("."))
    described = {
        "METADATA": METADATA.format(version=release.version),
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: scripts/dist\nRoot-Is-Purelib: false\n{tags}",
    }
    files = {path_in_wheel(name, path): (content, mode_of(path)) for path, content in release.files.items()}
    files |= {f"{name}.dist-info/{file}": (text.encode(), 0o644) for file, text in described.items()}
    record = f"{name}.dist-info/RECORD"
    sums = "".join(f"{path},sha256={digest(content)},{len(content)}\n" for path, (content, _) in files.items())
    files[record] = (f"{sums}{record},,\n".encode(), 0o644)
    package = out / f"{name}-{tag}.whl"
    with zipfile.ZipFile(package, "w") as archive:
        for path, (content, mode) in files.items():
            member = zipfile.ZipInfo(path, time.gmtime(release.commit_time)[:6])
            member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, (0o100000 | mode) << 16
            archive.writestr(member, content)
    return package


def path_in_wheel(name: str, path: str) -> str:
    """Where a wheel has a file of a release: pip copies scripts to `bin`, and data to the prefix. Licences and contents describe the wheel."""
    if path.startswith(PROGRAM_FOLDER):
        return f"{name}.data/scripts/{path.removeprefix(PROGRAM_FOLDER)}"
    if path.startswith(DOCUMENTS) and not path.endswith(PAGE_ENDINGS):
        return f"{name}.dist-info/{path.removeprefix(DOCUMENTS).removeprefix('/')}"
    return f"{name}.data/data/{path}"


def digest(content: bytes) -> str:
    """A hash as RECORD has it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
