"""A name server that takes its time, and knows no name: it answers on loopback, on a port of its own."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

NO_SUCH_NAME = b"\x81\x83"
"""A response, recursion available, NXDOMAIN (RFC 1035, 4.1.1)."""


@contextmanager
def slow_name_server(delay_s: float) -> Iterator[int]:
    """Answers each query after this time; the port is its value."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))
    server.settimeout(0.5)
    is_ended = threading.Event()
    thread = threading.Thread(target=_answer, args=(server, delay_s, is_ended))
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        is_ended.set()
        thread.join()
        server.close()


def _answer(server: socket.socket, delay_s: float, is_ended: threading.Event) -> None:
    while not is_ended.is_set():
        try:
            query, client = server.recvfrom(512)
        except TimeoutError:
            continue
        time.sleep(delay_s)
        # The question again, and no answer, authority or further record.
        server.sendto(query[:2] + NO_SUCH_NAME + query[4:6] + bytes(6) + query[12:], client)
