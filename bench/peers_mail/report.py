"""Rows to Markdown: docs/results/peers-mail.md, with the raw figures beside it."""

from __future__ import annotations

from pathlib import Path

from peers.figures import Bar
from peers.markdown import bars_table, table, verdict
from peers_db.report import Rows, ratio, row, save

from .clients import CLIENTS, MESSAGE_BYTES, SOURCE
from .servers import Postfix, Sink

ONE, KEPT = "a session each", "one session"
COLUMNS = (
    "round server client order messages seconds messages_per_s all_cycles user_share client_cpu clock_hz".split()
)


def place(server: str, is_kept: bool) -> str:
    """What rows of a server and a kind of session are called."""
    return f"{server}, {KEPT if is_kept else ONE}"


PLACES = [place(server.name, is_kept) for server in (Postfix, Sink) for is_kept in (False, True)]


def write(rows: Rows, settings: dict[str, object], results: Path) -> Path:
    """Writes the page and the raw figures."""
    save(rows, COLUMNS, results / "peers-mail/cycles.csv")
    page = results / "peers-mail.md"
    page.write_text(_page(rows, settings))
    return page


def bars(rows: Rows) -> list[Bar]:
    """What the engine promises."""
    cycles, speed = "all_cycles", "messages_per_s"
    return [
        *(Bar(f"{where}: all client cycles a message, × smtp-source", 0.8, False, ratio(rows, where, SOURCE, cycles), 3)
          for where in PLACES),
        *(Bar(f"{where}: messages a second, × smtp-source", 0.97, True, ratio(rows, where, SOURCE, speed), 3)
          for where in PLACES),
    ]  # fmt: skip


def _page(rows: Rows, settings: dict[str, object]) -> str:
    judged = bars(rows)
    noisy = "" if settings["noise"] == "refused" else "\n**Measured on a busy machine: these figures do not count.**\n"
    facts = "\n".join(f"| {name} | {value} |" for name, value in settings.items() if name != "commands")
    commands = "\n".join(settings["commands"])
    head = ["server and sessions", "client", "all cycles a message", "of these in user mode", "× the engine's", "messages/s",
            "client CPU"]  # fmt: skip
    figures = table(head, [row(rows, where, client.name, "messages_per_s") for where in PLACES for client in CLIENTS])
    return f"""# Engine and smtp-source on mail servers

{verdict(judged)} Measured by `make bench-peers-mail` on {settings["date"]}: {settings["rounds"]} rounds, in each every client
once in random order; medians, with the least and the most in brackets. The raw figures are in `peers-mail/`.
{noisy}
## The bars

{bars_table(judged)}

## Messages of {MESSAGE_BYTES} bytes to one recipient, {settings["connections"]} connections, closed loop

{figures}

Both clients send one command at a time and wait for each answer, that to `QUIT` too. The engine reads the answers to
`EHLO` for extensions, times each message and draws a Message-ID for it; smtp-source greets with `HELO` and sends the same
message over and over. Postfix takes and discards; smtp-sink only takes, so that there the client is as near to its limit
as it comes.

## Method and machine

All cycles of a message are the client's CPU time over the whole run (wait4(2)) × the cycles in a second of CPU time,
measured right before and after on the same CPU (`floor clock`), over the messages. Messages a second are by the engine's
account, and over the whole run of smtp-source, which gives none and begins within milliseconds. Postfix's log confirms the client's account of its messages to 2 %; smtp-sink
keeps none. The server has one CPU and the client the other; Postfix's queue is in memory, so that no disk has a say. How
the kernel splits CPU time between its own and the user's is a sample.

| | |
|---|---|
{facts}

```sh
{commands}
```
"""
