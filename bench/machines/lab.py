"""A lab of hosts behind sshds of their own (`scripts/machines-lab`), and what is running, listening or set in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

from shared.whole_run import REPOSITORY

SCRIPT = REPOSITORY / "scripts/machines-lab"
NETWORK = "10.77.0"
SSH_PORT = ":22 "


class Lab:
    """Hosts c1 to cN and a controller, until the end of the `with` block."""

    def __init__(self, directory: Path, hosts: int):
        self.directory, self.names = directory.resolve(), [f"c{number}" for number in range(1, hosts + 1)]
        self.hosts_file = str(self.directory / "hosts.toml")

    def __enter__(self) -> Lab:
        # The end of this pipe ends the lab, also when the bench is killed.
        argv = self._words("up", str(len(self.names)), "--until-eof")
        self._up = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        errors = self._up.stderr.read()
        if self._up.wait() != 0:
            raise RuntimeError(f"the lab does not start: {errors.strip()}")
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(self._words("down"), check=True, capture_output=True)
        self._up.stdin.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def program(self, program: Path) -> str:
        """A copy that hosts see: they have a /tmp of their own."""
        copy = self.directory / "program"
        if not copy.exists():
            shutil.copy(program, copy)
        return str(copy)

    def address(self, host: str) -> str:
        """The address of a host."""
        return f"{NETWORK}.{host.removeprefix('c')}"

    def start(self, argv: list[str], host: str | None = None, **options) -> subprocess.Popen:
        """Starts a command on a host, or on the controller. It has a measuring lock of its own."""
        where = ["exec"] if host is None else ["on", host]
        environment = os.environ | {"SHOWDOWN_LOCK": str(self.directory / "lock")}
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(self._words(*where, *argv), env=environment, text=True, **pipes | options)

    def run(self, argv: list[str], host: str | None = None, allowed: tuple[int, ...] = (0,)) -> str:
        """The output of a command on a host, or on the controller."""
        process = self.start(argv, host)
        output, errors = process.communicate()
        if process.returncode not in allowed:
            raise RuntimeError(f"{' '.join(argv)}: exit code {process.returncode}: {errors.strip()}")
        return output

    def pids(self, words: str, host: str | None = None) -> list[int]:
        """The processes with these words in their command line, in the process list of a host or of all."""
        lines = self.run(["ps", "-e", "-o", "pid=,args="], host).splitlines()
        return [int(line.split()[0]) for line in lines if words in line and "machines-lab" not in line and "ps -e" not in line]

    def kill(self, pid: int, host: str | None = None) -> bool:
        """Kills a process of that list; false if it has ended."""
        process = self.start(["kill", "-KILL", str(pid)], host)
        process.communicate()
        return process.returncode == 0

    def state(self) -> Counter[str]:
        """All processes of the lab, and of each host the ports that listen, the mounts, and the settings of its network."""
        found = Counter(f"process {line}" for line in self._processes())
        for host in self.names:
            ports = [line.split()[3] for line in self.run(["ss", "-Hltun"], host).splitlines() if SSH_PORT not in line]
            found.update(f"{host} listens on {port}" for port in ports)
            found.update(f"{host} mounts {line.split()[1]}" for line in self.run(["cat", "/proc/mounts"], host).splitlines())
            settings = self.run(["sysctl", "-a", "--pattern", r"^net\.(ipv4|core)\."], host).splitlines()
            found.update(f"{host} has {line}" for line in settings)
        return found

    def left(self, before: Counter[str], patience_s: float) -> list[str]:
        """What is there and was not, or was there and is not, after some patience."""
        deadline = time.monotonic() + patience_s
        while (now := self.state()) != before and time.monotonic() < deadline:
            time.sleep(0.2)
        return sorted((now - before).keys()) + [f"missing: {what}" for what in sorted((before - now).keys())]

    def _processes(self) -> list[str]:
        lines = self.run(["ps", "-e", "-o", "stat=,args="]).splitlines()
        alive = [line.split(maxsplit=1)[1] for line in lines if not line.startswith("Z")]
        # Scripts wait by sleeping, an hour at a time.
        return [line for line in alive if "ps -e" not in line and not line.startswith("sleep ")]

    def _words(self, *rest: str) -> list[str]:
        return [str(SCRIPT), "--dir", str(self.directory), *rest]
