"""The scenario, for each client in its own form: three pages by a matrix, fifteen requests an operation, a cycle of five seconds."""

from __future__ import annotations

from pathlib import Path

PAGES = ("home", "item", "cart")
NEXT = {"home": {"item": 70, "cart": 30}, "item": {"home": 60, "item": 40}, "cart": {"home": 100}}
"""What comes after each page, per cent."""
REQUESTS = 15
"""Requests of an operation: the page, and what it refers to."""
CYCLE_S = 5.0
"""Mean time from the begin of an operation to the begin of the next, exponential, cut at five times."""
COOKIE = "session=0123456789abcdef"
"""The server sets it with each page; users send it back."""


def engine(path: Path, users: int) -> Path:
    """Writes the scenario as the engine has it."""
    lines = ["[load.users]", f"count = {users}", f'delay = {{ cycle = "exp:{CYCLE_S:g}s" }}', "cookies = 1"]
    for page, row in NEXT.items():
        lines.append(f"next.{page} = {{ {', '.join(f'{to} = {percent}' for to, percent in row.items())} }}")
    for page in PAGES:
        lines += ["[[load.op]]", f'name = "{page}"', "[[load.op.step]]", f'path = "/{page}"', "expect = { status = 200 }"]
        lines += ["[[load.op.step]]", 'path = "/static"', "expect = { status = 200 }", f"repeat = {REQUESTS - 1}"]
    path.write_text("\n".join(lines) + "\n")
    return path


LOCUST = f"""# The same scenario for Locust.
import random, time
from locust import FastHttpUser, task

PAGES = {PAGES!r}
NEXT = {NEXT!r}

class Shopper(FastHttpUser):
    def on_start(self):
        self.page = PAGES[0]
        self.due = time.monotonic() + random.uniform(0, {CYCLE_S})

    def wait_time(self):
        self.due += min(random.expovariate(1 / {CYCLE_S}), {5 * CYCLE_S})
        return max(0.0, self.due - time.monotonic())

    @task
    def operation(self):
        self.client.get("/" + self.page)
        for _ in range({REQUESTS - 1}):
            self.client.get("/static")
        row = NEXT[self.page]
        self.page = random.choices(list(row), list(row.values()))[0]
"""


K6 = f"""// The same scenario for k6.
import http from "k6/http";
import {{ sleep }} from "k6";

const next = {{ home: [["item", 0.7], ["cart", 0.3]], item: [["home", 0.6], ["item", 0.4]], cart: [["home", 1]] }};
const shoppers = {{ executor: "constant-vus", vus: Number(__ENV.USERS), duration: __ENV.LENGTH, gracefulStop: "0s" }};
export const options = {{ scenarios: {{ shoppers }}, discardResponseBodies: true }};
let page = "home";
let due = Date.now() / 1000 + Math.random() * {CYCLE_S:g};

export default function () {{
  http.get(`${{__ENV.BASE}}/${{page}}`);
  for (let i = 1; i < {REQUESTS}; i += 1) http.get(`${{__ENV.BASE}}/static`);
  let at = Math.random();
  page = next[page].find(([, share]) => (at -= share) < 0)?.[0] ?? "home";
  due += Math.min(-Math.log(1 - Math.random()) * {CYCLE_S:g}, {5 * CYCLE_S:g});
  sleep(Math.max(0, due - Date.now() / 1000));
}}
"""
