"""Watchers of entries: streams of events that one thread reads, and how long each line took from the run until here."""

from __future__ import annotations

import re
import selectors
import socket
import threading
import time
from collections import Counter

from .bed import Api
from .samples import rounded

SENT = re.compile(rb'"mono_us":(\d+)')
"""When a stand-in has written a line, by the clock that all processes of the machine share."""


class Watchers:
    """So many streams, spread over the entries."""

    def __init__(self, api: Api, entries: list[int], count: int):
        self.arrivals_ms: Counter[float] = Counter()
        self._selector = selectors.DefaultSelector()
        self._is_over = threading.Event()
        address, token = api.access()
        host, port = address.rsplit(":", 1)
        for number in range(count):
            stream = socket.create_connection((host, int(port)), timeout=60)
            request = f"GET /api/v1/entries/{entries[number % len(entries)]}/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nAccept: text/event-stream\r\n\r\n"
            stream.sendall(request.encode())
            stream.setblocking(False)
            self._selector.register(stream, selectors.EVENT_READ, bytearray())
        self._thread = threading.Thread(target=self._read)

    def __enter__(self) -> Watchers:
        # What was told before belongs to the first look of a watcher, and is not counted.
        self._opened_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000 + 1_000_000
        self._thread.start()
        return self

    def __exit__(self, *_error) -> None:
        self._is_over.set()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()

    def _read(self) -> None:
        while not self._is_over.is_set():
            for key, _ in self._selector.select(timeout=0.2):
                try:
                    new = key.fileobj.recv(1 << 16)
                except OSError:
                    new = b""
                now_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000
                if not new:
                    self._selector.unregister(key.fileobj)
                    key.fileobj.close()
                    continue
                rest: bytearray = key.data
                rest += new
                end = rest.rfind(b"\n") + 1
                for sent in SENT.finditer(bytes(rest[:end])):
                    sent_us = int(sent.group(1))
                    if sent_us > self._opened_us:
                        self.arrivals_ms[rounded((now_us - sent_us) / 1e3)] += 1
                del rest[:end]
