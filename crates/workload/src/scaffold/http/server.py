"""The example server of the workload my-service: pages of items as JSON. Replace it with your own.

GET /items?page=N   a page of items
GET /health         200 as soon as the server answers
GET /stats          the number of requests: {"requests": 42}
"""

import argparse
import functools
import itertools
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, required=True)
parser.add_argument("--page-size", type=int, default=50)
parser.add_argument("--cache", choices=["on", "off"], default="off")
options = parser.parse_args()

answered = itertools.count(1)


def page(number):
    first = number * options.page_size
    items = [{"id": n, "name": f"item {n}", "price": n % 997 / 10} for n in range(first, first + options.page_size)]
    return json.dumps({"page": number, "items": items}).encode()


if options.cache == "on":
    page = functools.lru_cache(maxsize=1000)(page)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # with keep-alive
    disable_nagle_algorithm = True  # otherwise a reply in two packets waits 40 ms for an acknowledgement

    def do_GET(self):
        url = urlsplit(self.path)
        count = next(answered)
        if url.path == "/items":
            number = parse_qs(url.query).get("page", ["0"])[0]
            status, body = (200, page(int(number))) if number.isdecimal() else (400, b'{"error": "no such page"}')
        elif url.path == "/health":
            status, body = 200, b'{"status": "ok"}'
        elif url.path == "/stats":
            status, body = 200, json.dumps({"requests": count}).encode()
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
