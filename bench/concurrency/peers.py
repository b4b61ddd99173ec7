"""Siege, ab, wrk and httperf beside the engine: how many downloads each has in progress at once on one nginx, and where it gives up.

nginx sends each download slowly, so that it stays open whatever the client does: none of these clients can keep a pace itself.
"""

from __future__ import annotations

import os
import re
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from shared import nginx, processes

LEVELS = [1_000, 10_000, 100_000]
"""Connections that a client is asked for, until it gives up."""
SECONDS = 20
"""How long each client has to reach them."""
REACHED = 0.99
WORKERS = 8
FILE_BYTES = 100 << 20
MAIN = """
worker_processes {workers};
error_log {log} crit;
"""
HTTP = """
open_file_cache max=100;
send_timeout 1h;
server {{
    listen 127.0.0.1:{port} backlog=4096 reuseport;
    root {files};
    sendfile on;
    limit_rate 100;  # bytes a second
}}
"""


class SlowNginx:
    """nginx that sends each file at 100 bytes a second, with descriptors for 100,000 downloads."""

    def __init__(self, directory: Path):
        port, self._status = processes.free_port(), processes.free_port()
        self.address = f"127.0.0.1:{port}"
        files = directory / "files"
        files.mkdir()
        with (files / "big").open("wb") as big:
            big.truncate(FILE_BYTES)
        log = nginx.log_of(directory)
        main, http = MAIN.format(workers=WORKERS, log=log), HTTP.format(port=port, files=files)
        self.process = nginx.start(directory, main, 19_000, http, self._status, set(range(os.cpu_count() or 1)))
        processes.await_answer("nginx", self.process, log, lambda: nginx.counts(self._status))

    def __enter__(self) -> SlowNginx:
        return self

    def __exit__(self, *_) -> None:
        processes.stop(self.process)

    def active(self) -> int | None:
        """Connections in progress, without the one that asks; None without an answer."""
        try:
            return nginx.counts(self._status)[0] - 1
        except OSError:
            return None


@dataclass(frozen=True)
class Peer:
    """A client as its users call it."""

    name: str
    package: str
    argv: Callable[[str, int, Path], list[str]]
    """Its command line, from the server's address, the connections and a directory for its files."""


def _siege(address: str, connections: int, directory: Path) -> list[str]:
    # Without a file of its own it refuses more than 255.
    settings = directory / "siegerc"
    settings.write_text(f"limit = 1000000\nverbose = false\nlogging = false\ntimeout = {SECONDS * 3}\n")
    return ["siege", "-R", str(settings), "-b", "-c", str(connections), "-t", f"{SECONDS}S", f"http://{address}/big"]


def _ab(address: str, connections: int, _: Path) -> list[str]:
    return ["ab", "-q", "-s", str(SECONDS * 3), "-c", str(connections), "-n", str(connections), f"http://{address}/big"]


def _wrk(address: str, connections: int, _: Path) -> list[str]:
    return ["wrk", "-t", "2", "-c", str(connections), "-d", f"{SECONDS}s", f"http://{address}/big"]


def _httperf(address: str, connections: int, _: Path) -> list[str]:
    host, port = address.split(":")
    rate = max(100, connections * 2 // SECONDS)
    shape = ["--num-conns", str(connections), "--rate", str(rate), "--timeout", str(SECONDS * 3)]
    return ["httperf", "--hog", "--server", host, "--port", port, "--uri", "/big", *shape]


PEERS = [Peer("siege", "siege", _siege), Peer("ab", "apache2-utils", _ab), Peer("wrk", "wrk", _wrk), Peer("httperf", "httperf", _httperf)]


def rows(directory: Path, say: Callable[[str], None]) -> list[dict[str, object]]:
    """One row for each client and number of connections, up to where it gives up."""
    found = []
    for peer in PEERS:
        for connections in LEVELS:
            # A server of its own: what one client leaves behind is not in the count of the next.
            with_server = directory / f"{peer.name}-{connections}"
            with_server.mkdir()
            say(f"{peer.name}, {connections:,}")
            with SlowNginx(with_server) as server:
                row = _run(peer, connections, server, with_server)
            found.append(row)
            if row["gives_up"]:
                break
    return found


def _run(peer: Peer, connections: int, server: SlowNginx, directory: Path) -> dict[str, object]:
    output = directory / "output"
    began = time.monotonic()
    process = processes.start(peer.argv(server.address, connections, directory), set(range(os.cpu_count() or 1)), output)
    most, reached_s, client_bytes, client_cpu_s = 0, None, 0, 0.0
    try:
        while process.poll() is None and time.monotonic() - began < SECONDS:
            active = server.active() or 0
            if active > most:
                most, client_bytes = active, processes.resident_bytes(process.pid)
                client_cpu_s = processes.cpu_seconds(process.pid)
            if reached_s is None and active >= REACHED * connections:
                reached_s = round(time.monotonic() - began, 1)
                break
            time.sleep(0.2)
    except (FileNotFoundError, ProcessLookupError):
        pass  # It has ended meanwhile.
    ended = process.poll()
    processes.stop(process, signal.SIGINT)
    return {
        "run": peer.name,
        "transfers": connections,
        "in_progress": most,
        "rise_s": reached_s if reached_s is not None else "",
        "client_bytes": client_bytes,
        "client_cpu_s": round(client_cpu_s, 2),
        "gives_up": "" if reached_s is not None else _why(output, ended),
    }


def _why(output: Path, ended: int | None) -> str:
    """The last thing that a client says, or what it did."""
    lines = [line.strip() for line in output.read_text(errors="replace").splitlines()]
    telling = [line for line in lines if re.search(r"too many|cannot|can't|error|limit|unable|descriptor|FD_SETSIZE|abort|range", line, re.I)]
    said = telling[0][:120].replace("|", "/") if telling else ""
    how = f"not reached in {SECONDS} s" if ended is None else f"ended by signal {-ended}" if ended < 0 else f"ended with code {ended}"
    return f"{how}: {said}" if said else how
