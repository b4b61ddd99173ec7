"""Rows to Markdown: docs/results/peers-mail.md, with the raw figures beside it."""

from __future__ import annotations

from shared import whole_page
from shared.figures import Bar, Rows
from shared.results import ResultsPage, Settings
from shared.whole_page import engine_ratio

from .clients import CLIENTS, MESSAGE_BYTES, SOURCE
from .servers import Postfix, Sink

TARGET = "peers-mail"
ONE_EACH, KEPT = "a session each", "one session"
COLUMNS = (
    "round server client order messages seconds messages_per_s all_cycles user_share client_cpu clock_hz".split()
)
SPEED = "messages_per_s"


def place(server: str, is_kept: bool) -> str:
    """The name of a server and a kind of session in the rows."""
    return f"{server}, {KEPT if is_kept else ONE_EACH}"


PLACES = [place(server.name, is_kept) for server in (Postfix, Sink) for is_kept in (False, True)]


def bars(rows: Rows) -> list[Bar]:
    """The limits of the engine's cost and throughput."""
    return [
        *(Bar(f"{where}: all client cycles per message, × smtp-source", 0.8, False,
              engine_ratio(rows, where, SOURCE, "all_cycles"), 3) for where in PLACES),
        *(Bar(f"{where}: messages per second, × smtp-source", 0.97, True,
              engine_ratio(rows, where, SOURCE, SPEED), 3) for where in PLACES),
    ]  # fmt: skip


def page(rows: Rows, settings: Settings) -> str:
    """The whole page."""
    pairs = [(where, client.name) for where in PLACES for client in CLIENTS]
    body = f"""## Messages of {MESSAGE_BYTES:,} bytes to one recipient, {settings["connections"]} connections, closed loop

{whole_page.costs_table(rows, pairs, "server and sessions", "message", "messages", SPEED)}

- Both clients send one command at a time and wait for each answer, also for the answer to `QUIT`.
- The engine parses the answers to `EHLO` for extensions, times each message and gives it a Message-ID.
- smtp-source greets with `HELO` and sends the same message again and again.
- Postfix accepts and discards the messages. smtp-sink only accepts them, which brings the client close to its limit."""
    method = """- **All cycles per message**: the client's CPU time over the whole run (`wait4(2)`), times the cycles in a second of CPU
  time, divided by the messages. `floor clock` measures the cycles in a second on the same CPU, right before and right
  after the run.
- **Messages per second**: by the engine's own count. smtp-source prints none, so its messages are divided by its whole
  run; it starts sending within milliseconds.
- **Counts**: Postfix's log must agree with the client's count to 2 %. smtp-sink keeps no count.
- **CPUs and disks**: the server has one CPU and the client another. Postfix's queue is in memory.
- **User mode**: the kernel samples how CPU time divides between kernel and user mode, so that share is an estimate."""
    return whole_page.page("Engine and smtp-source on mail servers", TARGET, bars(rows), settings, body, method)


PAGE = ResultsPage(TARGET, "cycles", COLUMNS, page)
