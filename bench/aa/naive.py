"""A comparison without a method: one run of a load generator per server, and the two numbers compared."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from peers.servers import Nginx
from shared import series

COLUMNS = "at tool server seconds first_per_s second_per_s".split()
RUN_SECONDS = 10


def compare(server_cpu: int, client_cpu: int) -> dict[str, object]:
    """wrk against nginx, then wrk against a new nginx."""
    first, second = (_one_run(server_cpu, client_cpu) for _ in range(2))
    return {
        "at": series.now(),
        "tool": "wrk",
        "server": "nginx",
        "seconds": RUN_SECONDS,
        "first_per_s": first,
        "second_per_s": second,
    }


def _one_run(server_cpu: int, client_cpu: int) -> float:
    with tempfile.TemporaryDirectory() as directory, Nginx(Path(directory), server_cpu) as nginx:
        argv = ["taskset", "-c", str(client_cpu), "wrk", "-t1", "-c64", f"-d{RUN_SECONDS}s", f"http://{nginx.plain_address}/1k"]
        output = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    return float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1])
