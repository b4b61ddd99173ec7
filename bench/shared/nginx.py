"""nginx as an ordinary process in a temporary directory, with its own counts. What it serves is left to each bench."""

from __future__ import annotations

import os
import re
import subprocess
import urllib.request
from pathlib import Path

from . import processes

CONFIG = """
{user}
daemon off;
pid {directory}/nginx.pid;
{main}
events {{ worker_connections {connections}; }}
http {{
    access_log off;
    client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi; uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
    {http}
    server {{
        listen 127.0.0.1:{status};
        location / {{ stub_status; }}
    }}
}}
"""


def start(directory: Path, main: str, connections: int, http: str, status: int, cpus: set[int]) -> subprocess.Popen:
    """Starts nginx with these lines of its main and http contexts and a port of its own for its counts. Its log is
    `log_of(directory)`."""
    user = "user root;" if os.geteuid() == 0 else ""
    config = directory / "nginx.conf"
    config.write_text(
        CONFIG.format(user=user, directory=directory, main=main, connections=connections, http=http, status=status)
    )
    log = log_of(directory)
    return processes.start(["nginx", "-p", str(directory), "-e", str(log), "-c", str(config)], cpus, log)


def log_of(directory: Path) -> Path:
    """Where its messages go."""
    return directory / "nginx.log"


def counts(status: int) -> list[int]:
    """The figures of stub_status, with the query for them: connections in progress, accepted and handled since the start, requests,
    and connections that are read, written or wait."""
    with urllib.request.urlopen(f"http://127.0.0.1:{status}/", timeout=5) as reply:
        return [int(figure) for figure in re.findall(r"\d+", reply.read().decode())]
