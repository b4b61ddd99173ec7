"""Real servers on one CPU, each as an ordinary process in a temporary directory with its own defaults, and the load of each. How a search is
checked is left to `__main__`."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

from shared import nginx, processes

CONNECTIONS = 512
PAGE = "page.html"
PAGE_BYTES = 1024
CACHE = ("--get", "90", "--set", "10", "--keys", "10000", "--populate")
APACHE = """
ServerName localhost
ServerRoot {directory}
PidFile {directory}/apache.pid
Listen 127.0.0.1:{port}
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
DocumentRoot {directory}
ErrorLog {directory}/apache.log
KeepAlive On
MaxKeepAliveRequests 0
<Directory {directory}>
    Require all granted
</Directory>
"""
APACHE_MODULES = Path("/usr/lib/apache2/modules")


@dataclass(frozen=True)
class Real:
    """A real server."""

    name: str
    scheme: str
    start: Callable[[Path, int, set[int]], Popen]
    load: tuple[str, ...] = ()

    @contextmanager
    def running(self, directory: Path, cpu: int) -> Iterator[list[str]]:
        """The server while it runs; gives what `showdown load` needs for it."""
        # Apache reads its page as another user.
        directory.chmod(0o755)
        port = processes.free_port()
        process = self.start(directory, port, {cpu})
        try:
            processes.await_answer(self.name, process, _log(directory), lambda: socket.create_connection(("127.0.0.1", port), 1).close())
            path = f"/{PAGE}" if self.scheme == "http" else ""
            yield [f"{self.scheme}://127.0.0.1:{port}{path}", *self.load]
        finally:
            processes.stop(process)


def _log(directory: Path) -> Path:
    log = directory / "server.log"
    log.touch()
    return log


def _nginx(directory: Path, port: int, cpus: set[int]) -> Popen:
    (directory / PAGE).write_text("x" * PAGE_BYTES)
    http = f"keepalive_requests 1000000000; server {{ listen 127.0.0.1:{port}; root {directory}; }}"
    return nginx.start(directory, "worker_processes 1;", CONNECTIONS, http, processes.free_port(), cpus)


def _apache(directory: Path, port: int, cpus: set[int]) -> Popen:
    (directory / PAGE).write_text("x" * PAGE_BYTES)
    config = directory / "apache.conf"
    config.write_text(APACHE.format(directory=directory, port=port, modules=APACHE_MODULES))
    return processes.start(["apache2", "-D", "FOREGROUND", "-f", str(config)], cpus, _log(directory))


def _memcached(directory: Path, port: int, cpus: set[int]) -> Popen:
    arguments = ["memcached", "-l", "127.0.0.1", "-p", str(port), "-t", "1", "-u", "nobody"]
    return processes.start(arguments, cpus, _log(directory))


def _redis(directory: Path, port: int, cpus: set[int]) -> Popen:
    arguments = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir", str(directory)]
    return processes.start(arguments, cpus, _log(directory))


REAL = [
    Real("nginx, 1 KiB", "http", _nginx),
    Real("apache, 1 KiB", "http", _apache),
    Real("memcached, 90 % gets", "memcache", _memcached, CACHE),
    Real("redis, 90 % gets", "redis", _redis, CACHE),
]
