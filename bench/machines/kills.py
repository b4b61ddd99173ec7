"""A part of a comparison is killed or cut off at a random moment, and all of the lab is compared with how it was before."""

from __future__ import annotations

import random
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from shared.store import Row

from .lab import Lab
from .measures import VALID_OR_NOT, Programs, row

SETTING = "net.ipv4.tcp_early_retrans"
"""A kernel setting of each network namespace, which one variant sets."""
PLAN = "plan.toml"
PATIENCE_S = 120
SETTLED_S = 60
EARLIER = 0.7
"""Factor of the moment after an attempt in which the run had ended before it."""


@dataclass(frozen=True)
class Kill:
    """One row of the table."""

    about: str
    inject: Callable[[Lab, random.Random], bool]
    """Makes the fault; false if the run has ended."""
    message: str
    """A pattern of what showdown says; empty where it cannot say anything."""
    repair: Callable[[Lab], None] = lambda lab: None


def _one_of(words: str, hosts: tuple[str | None, ...]) -> Callable[[Lab, random.Random], bool]:
    """Kills one of the processes with these words, on one of these hosts. They may be there a moment later."""

    def inject(lab: Lab, chance: random.Random) -> bool:
        host = chance.choice(hosts)
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline:
            pids = lab.pids(words, host)
            if pids and lab.kill(chance.choice(pids), host):
                return True
            time.sleep(0.02)
        return False

    return inject


def _cut(lab: Lab, chance: random.Random) -> bool:
    lab.run(["ip", "link", "set", "eth0", "down"], chance.choice(lab.names))
    return True


def _join(lab: Lab) -> None:
    for host in lab.names:
        lab.run(["ip", "link", "set", "eth0", "up"], host)


SHOWDOWN = f"{PLAN} --yes"
"""Part of its command line."""
KILLS = {
    "kill-ssh": Kill("SIGKILL of an ssh of the controller", _one_of("ssh -T ", (None,)), r"was lost: ssh was killed by signal 9"),
    "kill-agent": Kill("SIGKILL of an agent", _one_of("agent --stdio", ("c1", "c2")), r"was lost: its agent was killed"),
    "kill-showdown": Kill("SIGKILL of showdown on the controller", _one_of(SHOWDOWN, (None,)), ""),
    "cut-link": Kill("`ip link set down` on a host", _cut, r"was lost: ", _join),
}


def run(name: str, programs: Programs, work: Path, number: int, seed: int) -> list[Row]:
    """One kill. Where the run has ended before its moment, the moment comes earlier: on a machine in use, runs differ in duration."""
    chance = random.Random(f"{seed} {name} {number}")
    at_s = chance.uniform(0.02, 0.98) * _undisturbed_s(programs, work)
    with Lab(work / "lab", 2) as lab:
        plan = _plan(lab, programs)
        while (rows := _run_at(KILLS[name], programs, lab, plan, at_s, chance)) is None:
            at_s *= EARLIER
        return rows


@cache
def _undisturbed_s(programs: Programs, work: Path) -> float:
    """The duration of a run without a fault."""
    with Lab(work / "lab", 2) as lab:
        plan = _plan(lab, programs)
        began = time.monotonic()
        lab.run(_words(lab, programs, plan), allowed=VALID_OR_NOT)
        return time.monotonic() - began


def _run_at(kill: Kill, programs: Programs, lab: Lab, plan: Path, at_s: float, chance: random.Random) -> list[Row] | None:
    before = lab.state()
    process = lab.start(_words(lab, programs, plan))
    try:
        process.wait(at_s)
    except subprocess.TimeoutExpired:
        pass
    is_made = process.poll() is None and kill.inject(lab, chance)
    made = time.monotonic()
    _, errors = process.communicate(timeout=PATIENCE_S)
    if not is_made:
        kill.repair(lab)
        return None
    ended_s = time.monotonic() - made
    # sshd learns of a link that was cut when it is there again.
    kill.repair(lab)
    left = lab.left(before, SETTLED_S)
    settled_s = time.monotonic() - made
    lines = [line for line in errors.splitlines() if line.strip()]
    message = lines[-1] if lines else ""
    # A fault at the end of the run may come too late to change anything.
    is_finished = process.returncode in VALID_OR_NOT
    is_named = not kill.message or is_finished or re.search(kill.message, errors) is not None
    times = f"at {at_s:.1f} s; showdown ended after {ended_s:.1f} s, all was as before after {settled_s:.1f} s"
    return [
        row("left running, listening or changed", "", "; ".join(left), times),
        row("message", "named", "named" if is_named else "not named", f"exit code {process.returncode}: {message}"),
    ]


def _plan(lab: Lab, programs: Programs) -> Path:
    """A comparison of servers on c1, of which one has a kernel setting, with the load from c2; short phases."""
    now = lab.run(["sysctl", "-n", SETTING], "c1").strip()
    other = f"nginx:{SETTING}={'3' if now == '0' else '0'}"
    question = ["nginx", other, "--on", "c1", "--clients", "c2", "--on-op", "get-1k", "--measure", "cpu", "--rate", "200"]
    argv = [str(programs.showdown), "plan", "compare", *question, "--hosts", lab.hosts_file, "--quick", "--blocks", "3", "--seed", "1"]
    plan = lab.directory / PLAN
    plan.write_text(shortened(lab.run(argv)))
    return plan


def shortened(plan: str) -> str:
    """The plan with phases of a fifth of a second."""
    plan = re.sub(r'(?m)^(min|closed_loop|load) = ".*"$', r'\1 = "200ms"', plan)
    return re.sub(r'(?m)^max = ".*"$', 'max = "400ms"', plan)


def _words(lab: Lab, programs: Programs, plan: Path) -> list[str]:
    runs = str(lab.directory / "runs")
    return [str(programs.showdown), "run", str(plan), "--yes", "--allow-kernel", SETTING, "--runs", runs, "--progress", "none"]
