"""A run that is killed with SIGKILL while it holds very many transfers: what it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from shared import processes
from shared.errors import BadRun

SETTINGS = [
    "ipv4/tcp_mem",
    "ipv4/tcp_notsent_lowat",
    "ipv4/tcp_congestion_control",
    "ipv4/tcp_rto_min_us",
    "ipv4/tcp_early_retrans",
    "core/netdev_max_backlog",
]
WITHIN_S = 120
"""Longer than the kernel takes to close a million connections."""
RISES_S = 600


def killed_at(argv: list[str], transfers: int) -> dict[str, object]:
    """Starts a run, kills it when so many transfers are open, and looks at what is left after a while."""
    before, sockets = _settings(), _sockets()
    run = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    began = time.monotonic()
    # Both ends are here.
    while _sockets() - sockets < 2 * transfers:
        if run.poll() is not None or time.monotonic() - began > RISES_S:
            processes.stop(run)
            raise BadRun(f"the run to be killed has not reached {transfers:,} transfers")
        time.sleep(0.2)
    changed = [name for name, value in _settings().items() if value != before[name]]
    started = processes.descendants(run.pid)
    open_then = (_sockets() - sockets) // 2
    run.send_signal(signal.SIGKILL)
    run.wait()
    killed = time.monotonic()
    while time.monotonic() - killed < WITHIN_S:
        left = _left(started)
        if not left and _settings() == before and _sockets() - sockets < 100:
            break
        time.sleep(0.2)
    return {
        "transfers": open_then,
        "processes": len(started),
        "changed_settings": changed,
        "left_processes": len(_left(started)),
        "left_settings": [name for name, value in _settings().items() if value != before[name]],
        "left_sockets": max(0, _sockets() - sockets),
        "clean_after_s": round(time.monotonic() - killed, 1),
    }


def _left(pids: list[int]) -> list[int]:
    return [pid for pid in pids if os.path.exists(f"/proc/{pid}/exe") and _is_running(pid)]


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _settings() -> dict[str, str]:
    paths = {Path(name).name: Path("/proc/sys/net", name) for name in SETTINGS}
    # Older kernels lack tcp_rto_min_us.
    return {name: path.read_text().strip() for name, path in paths.items() if path.exists()}


def _sockets() -> int:
    """TCP sockets in use (proc(5), sockstat)."""
    line = next(line for line in Path("/proc/net/sockstat").read_text().splitlines() if line.startswith("TCP:"))
    return int(line.split()[2])
