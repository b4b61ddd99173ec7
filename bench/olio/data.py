"""The rows and media of a number of users: how long they take, and whether the same seed makes the same twice."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from pathlib import Path

from shared import processes
from shared.showdown import NoAnswer

TABLES = ("address", "person", "friendship", "tag", "event", "event_tag", "attendance", "comment")
_PATH = os.pathsep.join([os.environ["PATH"], "/usr/local/sbin", "/usr/sbin", "/sbin"])


def measure(olio: Path, rows: int) -> dict[str, object]:
    """Makes them twice, each time in a directory of its own. The time is that of the slower one."""
    made = [_made(olio, rows) for _ in range(2)]
    first, second = (digests for _, digests, _ in made)
    different = [what for what, digest in first.items() if second[what] != digest]
    sizes = made[0][2]
    return {
        "rows": rows,
        "seconds": round(max(seconds for seconds, _, _ in made), 1),
        **{f"{name}_mb": round(size / 1e6) for name, size in sizes.items()},
        "same": f"no: {', '.join(different)}" if different else "yes",
    }


def _made(olio: Path, rows: int) -> tuple[float, dict[str, str], dict[str, int]]:
    with tempfile.TemporaryDirectory() as directory:
        began = time.monotonic()
        ran = processes.ask([str(olio.resolve()), "data", "--rows", str(rows), "--cache", directory], None)
        seconds = time.monotonic() - began
        if ran.returncode:
            raise NoAnswer(f"olio data: {ran.stderr.strip()}")
        [database] = Path(directory).glob("*/database")
        assets = database.with_name("assets")
        sizes = {"database": _bytes(database), "assets": _bytes(assets)}
        return seconds, _checksums(database, Path(directory)) | {"media": _digest(assets)}, sizes


def _files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def _bytes(directory: Path) -> int:
    return sum(path.stat().st_size for path in _files(directory))


def _digest(directory: Path) -> str:
    """Of the paths and contents of all files."""
    digest = hashlib.sha256()
    for path in _files(directory):
        digest.update(f"{path.relative_to(directory)} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _checksums(database: Path, directory: Path) -> dict[str, str]:
    """The database's own checksum of each table. It listens on a socket in this directory only."""
    sock, log = directory / "sock", directory / "mariadbd.log"
    argv = [_program("mariadbd"), "--no-defaults", f"--datadir={database}", f"--socket={sock}", f"--pid-file={directory / 'pid'}"]
    argv += ["--skip-networking", "--skip-grant-tables", *(["--user=root"] if os.geteuid() == 0 else [])]
    server = processes.start(argv, os.sched_getaffinity(0), log)
    statement = f"CHECKSUM TABLE {', '.join(f'olio.{table}' for table in TABLES)}"
    try:
        processes.await_answer("mariadbd", server, log, lambda: sock.stat(), within_s=60)
        ran = processes.ask([_program("mariadb"), "--no-defaults", f"--socket={sock}", "--batch", "--skip-column-names", "-e", statement], None)
    finally:
        processes.stop(server, patience_s=60)
    if ran.returncode:
        raise NoAnswer(f"checksums: {ran.stderr.strip()}")
    return dict(line.split("\t") for line in ran.stdout.splitlines())


def _program(name: str) -> str:
    """Its path; those of servers are not in everybody's PATH."""
    found = shutil.which(name, path=_PATH)
    if found is None:
        raise NoAnswer(f"{name} is not installed: apt install mariadb-server")
    return found
