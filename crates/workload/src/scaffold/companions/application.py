"""The example application of the workload my-service: pages of items as JSON, kept in memcached.

GET /items/N   a page of items
GET /health    200 as soon as the application answers

Replace it with your own.
"""

import argparse
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, required=True)
parser.add_argument("--cache", type=int, required=True, help="the port of memcached")
parser.add_argument("--caching", choices=["on", "off"], default="on")
options = parser.parse_args()

local = threading.local()


def cache():
    """The connection of this thread to memcached."""
    if not hasattr(local, "cache"):
        local.cache = socket.create_connection(("127.0.0.1", options.cache)).makefile("rwb")
    return local.cache


def cached(key):
    """The value of a key; none if memcached does not have it."""
    cache().write(b"get %s\r\n" % key)
    cache().flush()
    header = cache().readline().split()
    if header == [b"END"]:
        return None
    value = cache().read(int(header[3]))
    cache().readline()
    assert cache().readline() == b"END\r\n"
    return value


def keep(key, value):
    cache().write(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value))
    cache().flush()
    assert cache().readline() == b"STORED\r\n"


def page(number):
    items = [{"id": n, "name": f"item {n}", "price": n % 997 / 10} for n in range(number * 200, number * 200 + 200)]
    return json.dumps({"page": number, "items": items}).encode()


def page_from_cache(number):
    key = b"page-%d" % number
    found = cached(key)
    if found is None:
        found = page(number)
        keep(key, found)
    return found


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # with keep-alive
    disable_nagle_algorithm = True  # otherwise a reply in two packets waits 40 ms for an acknowledgement

    def do_GET(self):
        name = self.path.removeprefix("/items/")
        if self.path == "/health":
            status, body = 200, b'{"status": "ok"}'
        elif self.path.startswith("/items/") and name.isdecimal():
            status, body = 200, page_from_cache(int(name)) if options.caching == "on" else page(int(name))
        else:
            status, body = 404, b'{"error": "no such path"}'
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass  # logging each request would be part of the measurement


class Server(ThreadingHTTPServer):
    request_queue_size = 1024  # with the default of 5, simultaneous connections wait a second or more
    daemon_threads = True  # open connections must not delay the end


Server(("127.0.0.1", options.port), Handler).serve_forever()
