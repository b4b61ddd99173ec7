"""Real nginx servers as old, control and candidate. Their configuration and start are here; the rollouts are left to the series."""

from __future__ import annotations

import os
from collections.abc import Callable

from shared import nginx, processes

from .bed import Bed

GOOD = "equal"
BAD = "errors"
HTTP = """
    split_clients "$request_id" $fails {{ {failing} * 0; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            if ($fails) {{ return 503; }}
            return 200 "well\\n";
        }}
    }}
"""


def candidate_of(repeat: int) -> str:
    """What the candidate of a rollout does: it fails in every second one."""
    return GOOD if repeat % 2 else BAD


def starter(candidate: str) -> Callable[[Bed, str], None]:
    """Starts a server of a bed as nginx."""

    def start(bed: Bed, name: str) -> None:
        directory = bed.directory / f"nginx-{name}"
        directory.mkdir()
        failing = "5% 1;" if (name, candidate) == ("candidate", BAD) else ""
        http = HTTP.format(port=bed.ports[name], failing=failing)
        process = nginx.start(directory, "worker_processes 1;", 512, http, processes.free_port(), os.sched_getaffinity(0))
        bed.await_server(name, process, nginx.log_of(directory))

    return start
