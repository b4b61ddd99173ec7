"""The client and wrk, one after the other, on the same nginx beside the same company."""

from __future__ import annotations

import random
import subprocess
import tempfile
from pathlib import Path

from peers.clients import CLIENTS, Task
from peers.servers import Nginx
from shared import series
from shared.errors import BadRun
from shared.showdown import ENGINE

COLUMNS = "kind at commit connections showdown_per_s wrk_per_s".split()

CONNECTIONS = 64
SECONDS = 8
SERVER_CPU, CLIENT_CPU = 0, 1


def compare(showdown: Path) -> dict[str, object]:
    """Requests a second of both in the same minute, in random order: one row."""
    both = {client.name: client for client in CLIENTS if client.name in (ENGINE, "wrk")}
    rates: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, Nginx(Path(folder), SERVER_CPU) as server:
        task = Task(server.plain_address, CONNECTIONS, SECONDS, Path(folder), {ENGINE: str(showdown)})
        for name in random.sample(sorted(both), len(both)):
            client = both[name]
            argv = ["taskset", "-c", str(CLIENT_CPU), *client.argv(task)]
            ran = subprocess.run(argv, capture_output=True, text=True, timeout=10 * SECONDS)
            if ran.returncode not in client.exit_codes:
                raise BadRun(f"{name}: status {ran.returncode}: {ran.stderr.strip()[-300:]}")
            rates[name] = client.claimed(ran.stdout) / SECONDS
    return {"at": series.now(), "connections": CONNECTIONS, "showdown_per_s": round(rates[ENGINE]), "wrk_per_s": round(rates["wrk"])}
