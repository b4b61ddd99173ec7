"""A stand-in for a rack PDU: Debian's snmpd with the tree of an APC, whose watts follow the CPU time of this machine.

The watts are made up: `IDLE_W` and, with all CPUs busy, `BUSY_W` more. What is real is the way they take: SNMP, the meter of the file of
targets, the levels of load, the figures. Run as a script, this file is what snmpd asks (`pass_persist`).
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

OUTLET = 5
OID = f".1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.{OUTLET}"
"""rPDU2OutletMeteredStatusPower, W: PowerNet-MIB."""
IDLE_W, BUSY_W = 60.0, 90.0
LEAST_S = 0.9
"""A reading is of this time at least, as a PDU averages over about a second."""
START_S = 60
"""snmpd listens after this time at most."""


def watts(busy_share: float) -> int:
    """The made-up power at this share of busy CPUs."""
    return round(IDLE_W + BUSY_W * min(max(busy_share, 0.0), 1.0))


def busy_share(before: list[int], after: list[int]) -> float:
    """The share of CPU time between two lines `cpu` of /proc/stat that was neither idle nor waiting for a disk."""
    spent = [late - early for early, late in zip(before, after, strict=True)]
    total = sum(spent[:8])
    return 1 - (spent[3] + spent[4]) / total if total > 0 else 0.0


def _cpu_times() -> list[int]:
    return [int(ticks) for ticks in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]


class Reading:
    """The power over the last second or more."""

    def __init__(self) -> None:
        self._times, self._at, self._watts = _cpu_times(), time.monotonic(), watts(0.0)

    def watts(self) -> int:
        now = time.monotonic()
        if now - self._at >= LEAST_S:
            times = _cpu_times()
            self._watts = watts(busy_share(self._times, times))
            self._times, self._at = times, now
        return self._watts


def answer(reading: Reading, question: str, argument: str) -> str:
    """What `pass_persist` expects for a question (snmpd.conf(5))."""
    if question == "get" and argument == OID:
        return f"{OID}\ninteger\n{reading.watts()}"
    return "NONE"


def serve() -> None:
    """Answers snmpd until it closes its end."""
    reading = Reading()
    for line in sys.stdin:
        question = line.strip()
        if question == "PING":
            print("PONG", flush=True)
        elif question:
            print(answer(reading, question, sys.stdin.readline().strip()), flush=True)


def _wait_until_ready(process: subprocess.Popen[bytes], log: Path) -> None:
    """snmpd writes its version when it listens."""
    end = time.monotonic() + START_S
    while "NET-SNMP version" not in log.read_text():
        if process.poll() is not None or time.monotonic() > end:
            raise TimeoutError(f"snmpd does not start: see {log}")
        time.sleep(0.1)


@contextmanager
def pdu(directory: Path, port: int) -> Iterator[str]:
    """Serves it on this port of loopback; gives its address."""
    config = directory / "snmpd.conf"
    config.write_text(
        f"agentAddress udp:127.0.0.1:{port}\nrocommunity public 127.0.0.1\n"
        f"pass_persist .1.3.6.1.4.1.318.1.1 {sys.executable} {Path(__file__).resolve()}\n"
    )
    argv = ["/usr/sbin/snmpd", "-f", "-Lo", "-r", "-C", "-c", str(config)]
    environment = {"SNMP_PERSISTENT_DIR": str(directory / "snmp"), "MIBS": "", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    log = directory / "snmpd.log"
    with log.open("w") as output:
        process = subprocess.Popen(argv, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        _wait_until_ready(process, log)
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    serve()
