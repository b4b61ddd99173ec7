"""The test bed of mail: senders, a real HAProxy before three Postfix, and what is in the mailboxes afterwards. Postfix needs root."""

from __future__ import annotations

import itertools
import os
import random
import smtplib
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from email.parser import BytesHeaderParser
from pathlib import Path

from shared import postfix, processes

from .bed import ADDED, LOOK_S

SERVERS = ("old", *ADDED)
CONFIG = """
global
    stats socket {directory}/admin.sock mode 600 level admin
    log 127.0.0.1:{log} len 4096 format raw local0
defaults
    mode tcp
    timeout connect 1m
    timeout client 10m
    timeout server 10m
    option redispatch
    log global
    option tcplog
frontend mail
    bind 127.0.0.1:{mail}
    default_backend mail
backend mail
    balance roundrobin
    server old 127.0.0.1:{old} weight 64 send-proxy-v2
"""
PLAN = """
[balancer]
socket = "{directory}/admin.sock"
backend = "mail"
log = "127.0.0.1:{log}"

[old]
servers = ["old"]
mail_logs = ["{directory}/old/maillog"]

[candidate]
name = "candidate"
address = "127.0.0.1:{candidate}"
proxy_protocol = true
mail_log = "{directory}/candidate/maillog"

[control]
name = "control"
address = "127.0.0.1:{control}"
proxy_protocol = true
mail_log = "{directory}/control/maillog"

[rules]
objective = "p99<1m"
steps = [16]
dwell = "10m"
"""
DELIVERY = """\
virtual_mailbox_base = {directory}/mail
virtual_mailbox_maps = static:all/
virtual_uid_maps = static:65534
virtual_gid_maps = static:65534
virtual_transport = virtual
smtpd_upstream_proxy_protocol = haproxy
smtpd_recipient_restrictions = check_recipient_access texthash:{directory}/access
"""
MASTER = """
127.0.0.1:{port} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
proxywrite unix - - n - 1 proxymap
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
"""
PLANTED = {"defers": ("later", 450), "rejects": ("never", 550)}
"""What the candidate does with a recipient: its name, and the status. The other servers accept it."""
ACCESS = "later@mx.example 450 4.7.1 come later\nnever@mx.example 550 5.7.1 not here\n"
SENDERS = 4
PAUSE_S = 0.08
"""Between two sessions of a sender."""
SLOW = 12
"""Sessions that are in the middle of a message while the candidate is rolled back."""
PATIENCE_S = 60.0


@dataclass
class Sent:
    """What the senders know."""

    accepted: list[str] = field(default_factory=list)
    """The Message-IDs of accepted messages."""
    cut: int = 0
    """Sessions that the server ended without an answer."""


class MailBed:
    """HAProxy and three Postfix; they end with the `with` block."""

    def __init__(self, directory: Path):
        """`directory` must be one that Postfix's user may enter."""
        self.directory = directory
        self.ports = {name: processes.free_port() for name in (*SERVERS, "mail", "log")}
        self.processes: dict[str, subprocess.Popen] = {}
        self.sent = Sent()
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> MailBed:
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end_senders()
        for process in reversed(list(self.processes.values())):
            processes.stop(process, patience_s=10)

    def _start(self) -> None:
        for name in SERVERS:
            folder = self.directory / name
            for below, owner in [("", 0), ("queue", 0), ("data", "postfix"), ("mail", 65534)]:
                subprocess.run(["install", "-d", "-m", "755", "-o", str(owner), str(folder / below)], check=True)
            (folder / "main.cf").write_text((postfix.MAIN_CF + DELIVERY).format(directory=folder))
            (folder / "master.cf").write_text(MASTER.format(port=self.ports[name]).lstrip())
            (folder / "access").write_text(ACCESS if name == "candidate" else "")
            self._run(name, ["postfix", "-c", str(folder), "start-fg"], self.ports[name])
        config = self.directory / "haproxy.cfg"
        config.write_text(CONFIG.format(directory=self.directory, **self.ports))
        self._run("haproxy", ["haproxy", "-W", "-f", str(config)], self.ports["mail"])

    def _run(self, name: str, argv: list[str], port: int) -> None:
        log = self.directory / f"{name}.log"
        self.processes[name] = processes.start(argv, os.sched_getaffinity(0), log)
        processes.await_answer(name, self.processes[name], log, lambda: socket.create_connection(("127.0.0.1", port), 1).close(), PATIENCE_S)

    def plan(self) -> Path:
        """Writes the plan of a rollout."""
        path = self.directory / "plan.toml"
        path.write_text(PLAN.format(directory=self.directory, **self.ports))
        return path

    def weights(self) -> dict[str, int]:
        """The weight of each server in the balancer."""
        with socket.socket(socket.AF_UNIX) as admin:
            admin.settimeout(5)
            admin.connect(str(self.directory / "admin.sock"))
            admin.sendall(b"show servers state mail\n")
            answer = b""
            while chunk := admin.recv(65536):
                answer += chunk
        rows = [line.split() for line in answer.decode().splitlines()[2:] if line]
        return {row[3]: int(row[7]) for row in rows}

    def await_weight(self, is_wanted: Callable[[int], bool], run: subprocess.Popen, within_s: float) -> bool:
        """Whether the candidate gets a weight that is as wanted, while the run goes on or at its end."""
        end = time.monotonic() + within_s
        while time.monotonic() < end:
            has_ended = run.poll() is not None
            if is_wanted(self.weights().get("candidate", 0)):
                return True
            if has_ended:
                return False
            time.sleep(LOOK_S)
        return False

    def start_senders(self, planted: str) -> None:
        """Senders who try again what was deferred. Half of the messages, at random, are to the recipient whom the candidate does not accept:
        if they took turns, `roundrobin` could give one kind of them to the other servers only."""
        numbers = itertools.count()
        for _ in range(SENDERS):
            thread = threading.Thread(target=self._send, args=(planted, numbers), daemon=True)
            thread.start()
            self._threads.append(thread)

    def end_senders(self) -> None:
        """Each sender ends with its message."""
        self._is_over.set()
        for thread in self._threads:
            thread.join(PATIENCE_S)
        self._threads.clear()

    def _send(self, planted: str, numbers: itertools.count) -> None:
        while not self._is_over.is_set():
            number = next(numbers)
            recipient = PLANTED[planted][0] if random.Random(number).random() < 0.5 else "user"
            while (status := self._session(recipient, f"<{number}@client.example>")) == 450:
                pass
            if status == 0:
                with self._lock:
                    self.sent.cut += 1

    def _session(self, recipient: str, message_id: str) -> int:
        """Offers a message in a session of its own; returns the last status. 0: the session was cut."""
        time.sleep(PAUSE_S)
        try:
            session = self.begin()
            status = session.rcpt(f"{recipient}@mx.example")[0]
            if status == 250:
                status = self.finish(session, message_id)
            else:
                session.quit()
            return status
        except (smtplib.SMTPException, OSError):
            return 0

    def begin(self) -> smtplib.SMTP:
        """A session up to the sender's address."""
        session = smtplib.SMTP("127.0.0.1", self.ports["mail"], local_hostname="client.example", timeout=PATIENCE_S)
        session.helo()
        session.mail("sender@client.example")
        return session

    def finish(self, session: smtplib.SMTP, message_id: str) -> int:
        """Sends the message and ends the session; returns the status of the message."""
        status, _ = session.data(f"Message-ID: {message_id}\r\nSubject: a test\r\n\r\nText\r\n")
        if status == 250:
            with self._lock:
                self.sent.accepted.append(message_id)
        session.quit()
        return status

    def delivered(self) -> tuple[Counter[str], int]:
        """How often each Message-ID is in a mailbox, and how many messages the candidate has delivered."""
        found: Counter[str] = Counter()
        at_candidate = 0
        for name in SERVERS:
            for path in (self.directory / name / "mail" / "all" / "new").glob("*"):
                found[BytesHeaderParser().parsebytes(path.read_bytes())["Message-ID"]] += 1
                at_candidate += name == "candidate"
        return found, at_candidate

    def await_delivery(self) -> tuple[Counter[str], int]:
        """The same, after each accepted message is there or a minute is over."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            found, at_candidate = self.delivered()
            if all(message_id in found for message_id in self.sent.accepted):
                break
            time.sleep(0.5)
        # What comes twice may come later.
        time.sleep(2)
        return self.delivered()
