"""A case's own place: a mount name space with small file systems for runs, scratch and journal.

All processes of the name space belong to the case, so what is left running is known exactly.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

JOURNAL = Path("/run/showdown")
"""Where root's journal of kernel settings is. The name space has an empty one of its own."""
SIZES = {"runs": "64m", "scratch": "1g", "journal": "64k"}
FILLER = "filler"
PAGE = 4096


class Sandbox:
    """The directory and the name space of one case."""

    def __init__(self, home: Path, showdown: Path):
        self.home, self.showdown = home, showdown
        for name in ("runs", "tmp"):
            (home / name).mkdir(parents=True)
        # A server that root starts changes its user, and must be able to enter.
        for path in (home, home / "tmp"):
            path.chmod(0o755)
        JOURNAL.mkdir(parents=True, exist_ok=True)
        self.disks = {"runs": home / "runs", "scratch": home / "tmp", "journal": JOURNAL}
        mounts = [f"mount -t tmpfs -o mode=1777,size={SIZES[name]} {name} {path}" for name, path in self.disks.items()]
        script = " && ".join([*mounts, f"touch {home}/ready"]) + "; exec sleep infinity"
        self._holder = subprocess.Popen(["unshare", "--mount", "sh", "-c", script], stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + 10
        while not (home / "ready").exists():
            if time.monotonic() > deadline:
                self.close()
                raise RuntimeError("this machine does not allow a mount name space: run as root")
            time.sleep(0.01)

    def close(self) -> None:
        """Ends all processes of the name space, by their ids, and the name space with them."""
        for pid in self.processes():
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        self._holder.kill()
        self._holder.wait()

    def inside(self, path: Path) -> Path:
        """A path of the name space, as this process can reach it."""
        return Path(f"/proc/{self._holder.pid}/root{path}")

    def start(self, arguments: list[str], log: Path, environment: dict[str, str] | None = None) -> subprocess.Popen:
        """Starts showdown in the name space. Its output goes to `log`."""
        own = {"TMPDIR": str(self.home / "tmp"), "SHOWDOWN_LOCK": str(self.home / "lock")}
        own["XDG_CACHE_HOME"] = str(self.home.parent / "cache")
        # Each of these becomes the next, so the process id is that of showdown. The directory is entered inside.
        inside = ["sh", "-c", 'cd "$0" && exec "$@"', str(self.home), str(self.showdown), *arguments]
        argv = ["nsenter", f"--target={self._holder.pid}", "--mount", *inside]
        with log.open("wb") as sink:
            environment = os.environ | own | (environment or {})
            return subprocess.Popen(argv, env=environment, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink)

    def ask(self, arguments: list[str], timeout_s: float = 300) -> tuple[int, str]:
        """Runs showdown in the name space to its end. Returns the exit code and the output."""
        log = self.home / "asked"
        process = self.start(arguments, log)
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        return code, log.read_text(errors="replace")

    def processes(self) -> list[int]:
        """The processes of the case."""
        own = _name_space(self._holder.pid)
        others = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())
        return [pid for pid in others if pid != self._holder.pid and own is not None and _name_space(pid) == own]

    def settle(self, patience_s: float = 15.0) -> list[str]:
        """Waits until no process of the case is left; returns those that stay."""
        deadline = time.monotonic() + patience_s
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.02)
        return [f"{name_of(pid)} (pid {pid})" for pid in left]

    def fill(self, disk: str) -> None:
        """Fills one of the file systems to the last byte."""
        directory = self.inside(self.disks[disk])
        _write_until_full(directory / FILLER)
        journal = directory / "knobs.journal"
        if disk == "journal" and journal.exists():
            # The last page of a file has room on a full disk, too: blank lines leave ten bytes of it.
            with journal.open("ab") as file:
                file.write(b"\n" * max(0, PAGE - 10 - journal.stat().st_size % PAGE))

    def make_room(self, disk: str) -> None:
        """Undoes `fill`."""
        (self.inside(self.disks[disk]) / FILLER).unlink(missing_ok=True)

    def remount(self, disk: str, mode: str) -> bool:
        """Makes a file system read-only (`ro`) or writable (`rw`). A file that is open for writing delays it."""
        argv = ["nsenter", f"--target={self._holder.pid}", "--mount", "mount", "-o", f"remount,{mode}", str(self.disks[disk])]
        deadline = time.monotonic() + 5
        while subprocess.run(argv, capture_output=True).returncode != 0:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.002)
        return True

    def scratch(self) -> list[str]:
        """The scratch directories that are left."""
        return sorted(path.name for path in self.inside(self.disks["scratch"]).glob("showdown-*"))


def name_of(pid: int) -> str:
    """The name of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def parent_of(pid: int) -> int:
    """The parent of a process; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def _name_space(pid: int) -> str | None:
    try:
        if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return None
        return os.readlink(f"/proc/{pid}/ns/mnt")
    except OSError:
        return None


def _write_until_full(path: Path) -> None:
    """Writes blocks of falling size until not even one byte has room."""
    with path.open("ab", buffering=0) as file:
        for size in (1 << 20, PAGE, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                pass
