"""The example server of the workload my-service: a shop with sessions. Replace it with your own.

GET /                 a page with a form and ten links; a new visitor gets the cookie `sid`
GET /search?q=TEXT    items as JSON
GET /items/N          an item
POST /login           token, name and password of a form: 303 to /account
GET /account          for members
POST /logout          ends the membership
POST /items/N/buy     for members, with the token
GET /health           200 as soon as the server answers
"""

import argparse
import hashlib
import itertools
import json
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, required=True)
parser.add_argument("--rounds", type=int, default=1000)
options = parser.parse_args()

numbers = itertools.count(1)
sessions = {}


def hashed(password):
    return hashlib.pbkdf2_hmac("sha256", password.encode(), b"salt", options.rounds).hex()


class Refused(Exception):
    pass


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # with keep-alive
    disable_nagle_algorithm = True  # otherwise a reply in two packets waits 40 ms for an acknowledgement

    def session(self):
        cookie = SimpleCookie(self.headers.get("Cookie", "")).get("sid")
        session = sessions.get(cookie and cookie.value)
        if session is None:
            raise Refused("no session")
        return session

    def form(self, session):
        length = int(self.headers.get("Content-Length", 0))
        form = {key: values[0] for key, values in parse_qs(self.rfile.read(length).decode()).items()}
        if session is not None and form.get("token") != session["token"]:
            raise Refused("another token")
        return form

    def do_GET(self):
        url = urlsplit(self.path)
        try:
            if url.path == "/":
                self.home()
            elif url.path == "/search":
                query = parse_qs(url.query).get("q", [""])[0]
                first = sum(query.encode()) % 90
                self.answer(200, json.dumps({"query": query, "items": [{"id": first + n} for n in range(10)]}))
            elif url.path.startswith("/items/") and url.path[7:].isdecimal():
                self.session()
                self.answer(200, f"<p>item {url.path[7:]}</p>")
            elif url.path == "/account":
                name = self.session()["member"]
                self.answer(200, f"<p>{name}</p><a>Log out</a>") if name else self.answer(401, "log in first")
            elif url.path == "/health":
                self.answer(200, "ok")
            else:
                self.answer(404, "no such page")
        except Refused as refused:
            self.answer(403, str(refused))

    def do_POST(self):
        try:
            session = self.session()
            if self.path == "/logout":
                self.form(None)
                session["member"] = None
                self.answer(200, "bye")
            elif self.path == "/login":
                form = self.form(session)
                right = hashed("secret" + form.get("name", "")[4:]) == hashed(form.get("password", ""))
                if not right:
                    raise Refused("another password")
                session["member"] = form["name"]
                self.answer(303, "", Location="/account")
            elif self.path.endswith("/buy"):
                self.form(session)
                if not session["member"]:
                    raise Refused("no member")
                self.answer(200, "bought")
            else:
                self.answer(404, "no such page")
        except Refused as refused:
            self.answer(403, str(refused))

    def home(self):
        headers = {}
        try:
            session = self.session()
        except Refused:
            number = next(numbers)
            session = sessions[str(number)] = {"token": f"t{number * 7919}", "member": None}
            headers = {"Set-Cookie": f"sid={number}; Path=/; HttpOnly"}
        links = "".join(f'<a href="/items/{n}">{n}</a>\n' for n in range(1, 11))
        form = f'<form><input name="token" value="{session["token"]}"></form>'
        self.answer(200, f"<html>{form}\n{links}</html>", **headers)

    def answer(self, status, text, **headers):
        body = text.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass  # logging each request would be part of the measurement


class Server(ThreadingHTTPServer):
    request_queue_size = 1024  # with the default of 5, simultaneous connections wait a second or more
    daemon_threads = True  # open connections must not delay the end


Server(("127.0.0.1", options.port), Handler).serve_forever()
