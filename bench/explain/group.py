"""A control group with little memory or a slow disk, and swap space for it, in versions 1 and 2 of the interface.

A server enters it by a program that is before its own in its command. The client stays outside."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
MB = 1 << 20

ENTER = """#!/bin/sh
# dd(1): an output file of nocache with a count of 0 is dropped from the cache.
for file in "$1"/*; do
    if [ -f "$file" ]; then dd of="$file" oflag=nocache conv=notrunc,fdatasync count=0 2>&1; fi
done >/dev/null
shift
{enter}
exec "$@"
"""


@dataclass(frozen=True)
class Room:
    """What programs of a group have; zero is no limit."""

    memory_mb: int = 0
    read_mb_per_s: int = 0
    swap_mb: int = 0


def disk_of(path: Path) -> str:
    """MAJOR:MINOR of the whole disk that has a path."""
    number = os.stat(path).st_dev
    device = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    whole = device.parent if (device / "partition").exists() else device
    return (whole / "dev").read_text().strip()


def files(room: Room, disk: str, is_version_2: bool) -> list[tuple[str, str, str]]:
    """Controller, file and value of each limit."""
    limits = []
    if room.memory_mb:
        size = str(room.memory_mb * MB)
        limits.append(("memory", "memory.max" if is_version_2 else "memory.limit_in_bytes", size))
    if room.read_mb_per_s:
        rate = room.read_mb_per_s * MB
        if is_version_2:
            limits.append(("io", "io.max", f"{disk} rbps={rate}"))
        else:
            limits.append(("blkio", "blkio.throttle.read_bps_device", f"{disk} {rate}"))
    return limits


@contextmanager
def group(room: Room, work: Path) -> Iterator[Path | None]:
    """A program that drops the cached files of its first argument, enters the group, and executes the rest of its arguments; none
    where there are no limits. What was made is removed, whatever happens."""
    is_version_2 = (ROOT / "cgroup.controllers").exists()
    name = f"bench-explain-{os.getpid()}"
    folders: list[Path] = []
    swap = work / "swap"
    try:
        for controller, file, value in files(room, disk_of(work), is_version_2):
            parent = ROOT if is_version_2 else ROOT / controller
            if is_version_2:
                (ROOT / "cgroup.subtree_control").write_text(f"+{controller}")
            folder = parent / name
            folder.mkdir(exist_ok=True)
            if folder not in folders:
                folders.append(folder)
            (folder / file).write_text(value)
        if room.swap_mb:
            with swap.open("wb") as made:
                for _ in range(room.swap_mb):
                    made.write(bytes(MB))
            swap.chmod(0o600)
            subprocess.run(["mkswap", str(swap)], check=True, capture_output=True)
            subprocess.run(["swapon", str(swap)], check=True)
        program = work / "enter"
        program.write_text(ENTER.format(enter="\n".join(f"echo $$ > {folder}/cgroup.procs" for folder in folders)))
        program.chmod(0o755)
        yield program if folders else None
    finally:
        if room.swap_mb:
            subprocess.run(["swapoff", str(swap)], check=False, capture_output=True)
            swap.unlink(missing_ok=True)
        for folder in folders:
            _remove(folder)


def _remove(folder: Path) -> None:
    """Removes a group whose last program has just ended."""
    for _ in range(50):
        try:
            folder.rmdir()
            return
        except OSError:
            time.sleep(0.1)
    folder.rmdir()
