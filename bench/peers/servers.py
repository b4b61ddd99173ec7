"""nginx and memcached as ordinary processes in a temporary directory, with their own count of requests.

The server counts the requests, in the same way for all clients.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
from pathlib import Path

from shared import nginx, processes

BODY_BYTES = 1024
MARKER = "half way"
"""A text in the middle of the file, which the engine checks for."""
FLOOR_KEY = "floor-key"

NGINX_MAIN = """
error_log {log};
worker_processes 1;
worker_rlimit_nofile {descriptors};
"""
NGINX_HTTP = """
keepalive_requests 1000000000;  # the default, 1000, would make clients that reconnect slowly look slow
keepalive_timeout 1h;
server {{
    listen 127.0.0.1:{plain} backlog=16384;
    listen 127.0.0.1:{tls} ssl backlog=16384;
    ssl_certificate {directory}/cert.pem;
    ssl_certificate_key {directory}/key.pem;
    ssl_protocols TLSv1.3;
    ssl_conf_command Ciphersuites TLS_AES_256_GCM_SHA384;  # the same for all clients
    root {directory}/files;
}}
"""


class Server:
    """A server process on one CPU, with a log and a count of requests."""

    name: str
    process: subprocess.Popen
    log: Path

    def requests(self) -> int:
        """Requests since the server's start."""
        raise NotImplementedError

    def stored(self) -> int:
        """Requests since the server's start that filled its cache."""
        return 0

    def prepare(self) -> None:
        """Brings the server into the same state before every run."""

    def pin(self, cpu: int) -> None:
        """Moves the running server to another CPU."""
        processes.pin(self.process.pid, cpu)

    def cpu_seconds(self) -> float:
        """CPU time since the server's start."""
        return processes.cpu_seconds(self.process.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        processes.stop(self.process, signal.SIGTERM)

    def _await_ready(self) -> None:
        processes.await_answer(self.name, self.process, self.log, self.requests)


class Nginx(Server):
    """nginx with one worker, which serves a file of 1 KiB over plain HTTP and over TLS 1.3."""

    name = "nginx"

    def __init__(self, directory: Path, cpu: int):
        self.log = nginx.log_of(directory)
        plain, tls, self._status = (processes.free_port() for _ in range(3))
        self.plain_address, self.tls_address = f"127.0.0.1:{plain}", f"127.0.0.1:{tls}"
        files = directory / "files"
        files.mkdir()
        half = BODY_BYTES // 2
        (files / "1k").write_text(("." * (half - len(MARKER)) + MARKER).ljust(BODY_BYTES, "."))
        _make_certificate(directory)
        descriptors = _raise_descriptor_limit()
        main = NGINX_MAIN.format(log=self.log, descriptors=descriptors)
        http = NGINX_HTTP.format(directory=directory, plain=plain, tls=tls)
        self.process = nginx.start(directory, main, descriptors - 200, http, self._status, {cpu})
        self._await_ready()

    def requests(self) -> int:
        """The third figure of stub_status. Each query for it counts as one request."""
        return nginx.counts(self._status)[3]


class Memcached(Server):
    """memcached with one worker thread and values of 1,024 bytes."""

    name = "memcached"

    def __init__(self, directory: Path, cpu: int):
        self.log = directory / "memcached.log"
        port = processes.free_port()
        self.address = f"127.0.0.1:{port}"
        argv = ["memcached", "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-t", "1", "-m", "512", "-c", "4096"]
        if os.geteuid() == 0:
            argv += ["-u", "root"]
        self.process = processes.start(argv, {cpu}, self.log)
        self._await_ready()

    def prepare(self) -> None:
        """Empties the cache, so that values of the last client do not displace those of the next."""
        self._ask("flush_all\r\n", "OK\r\n")
        self._ask(f"set {FLOOR_KEY} 0 0 {BODY_BYTES}\r\n{'.' * BODY_BYTES}\r\n", "STORED\r\n")

    def requests(self) -> int:
        """Gets since the server's start. Sets fill the cache and do not count."""
        return self.statistics()["cmd_get"]

    def stored(self) -> int:
        """Sets since the server's start."""
        return self.statistics()["cmd_set"]

    def statistics(self) -> dict[str, int]:
        """The server's counters (memcached's doc/protocol.txt, "General-purpose statistics")."""
        lines = self._ask("stats\r\n", "END\r\n").splitlines()
        pairs = (line.split()[1:] for line in lines if line.startswith("STAT "))
        return {name: int(value) for name, value in (pair for pair in pairs if len(pair) == 2) if value.isdigit()}

    def _ask(self, request: str, last: str) -> str:
        host, port = self.address.split(":")
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            connection.sendall(request.encode())
            reply = ""
            while not reply.endswith(last):
                received = connection.recv(65536).decode()
                if not received:
                    raise ConnectionError(f"memcached closed after {reply[-100:]!r}")
                reply += received
            return reply


def _make_certificate(directory: Path) -> None:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
         "-keyout", str(directory / "key.pem"), "-out", str(directory / "cert.pem")],
        check=True, capture_output=True,
    )  # fmt: skip


def _raise_descriptor_limit() -> int:
    """Lets servers and clients have as many descriptors as this machine allows; returns how many that are."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return min(hard, 65536)
