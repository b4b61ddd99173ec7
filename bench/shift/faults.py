"""The faults: what is planted in the candidate before the start, and what happens at a moment of the rollout."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field

from .bed import Bed, lease_of, require


@dataclass(frozen=True)
class Fault:
    """A fault of a rollout."""

    about: str
    planted: list[str] = field(default_factory=list)
    """Options of the candidate, from its start on."""
    inject: Callable[[Bed, subprocess.Popen], object] | None = None
    """What happens at the moment. None if the fault is planted."""
    bar_s: float = 3.0
    """The candidate takes nothing after this time."""
    repair: Callable[[Bed, subprocess.Popen], object] | None = None
    """What is undone after it, so that everything can end."""
    answers: bool = True
    """Whether the run lives to write an answer."""
    has_health: bool = True
    """Whether candidate and control have a page of their health. Otherwise only their connections are checked."""
    at_its_share: bool = False
    """Whether users may see at most the candidate's share of it."""
    in_each_step: bool = False
    """Whether it happens in each step in turn. Otherwise it happens in the first one."""


def _signal(name: str, number: int) -> Callable[[Bed, subprocess.Popen], object]:
    return lambda bed, _run: bed.processes[name].send_signal(number)


def _run(number: int) -> Callable[[Bed, subprocess.Popen], object]:
    return lambda _bed, run: run.send_signal(number)


def _lease(bed: Bed, run: subprocess.Popen) -> None:
    lease = lease_of(run.pid)
    require(lease, "the run has no process of a lease")
    os.kill(lease, signal.SIGKILL)


def _both(number: int) -> Callable[[Bed, subprocess.Popen], object]:
    """The run is stopped first, so that it does not see the end of the other one."""

    def inject(_bed: Bed, run: subprocess.Popen) -> None:
        lease = lease_of(run.pid)
        require(lease, "the run has no process of a lease")
        run.send_signal(signal.SIGSTOP)
        os.kill(lease, number)
        run.send_signal(number)

    return inject


FAULTS = {
    "errors": Fault("5 % of the candidate's answers are errors, from its start on", ["--errs-every=20"], at_its_share=True),
    "resets": Fault("5 % of the candidate's connections end without an answer, from its start on", ["--drops-every=20"], at_its_share=True),
    "crash": Fault("SIGKILL of the candidate: it refuses connections", inject=_signal("candidate", signal.SIGKILL), at_its_share=True),
    "hang": Fault("SIGSTOP of the candidate: it accepts connections and never answers", inject=_signal("candidate", signal.SIGSTOP), at_its_share=True),
    "hang-no-health": Fault("the same, and candidate and control have no page of their health", inject=_signal("candidate", signal.SIGSTOP), has_health=False, at_its_share=True),
    "kill-run": Fault("SIGKILL of showdown", inject=_run(signal.SIGKILL), answers=False),
    "stop-run": Fault("SIGSTOP of showdown", inject=_run(signal.SIGSTOP), repair=_run(signal.SIGCONT)),
    "kill-lease": Fault("SIGKILL of the process of the lease", inject=_lease),
    "kill-both": Fault("SIGKILL of showdown and of the process of the lease", inject=_both(signal.SIGKILL), answers=False),
    "stop-both": Fault("SIGSTOP of showdown and of the process of the lease", inject=_both(signal.SIGSTOP), bar_s=6.0, repair=_run(signal.SIGCONT)),
    "reload": Fault("reload of HAProxy (SIGUSR2)", inject=_signal("haproxy", signal.SIGUSR2), in_each_step=True),
    "kill-balancer": Fault("SIGKILL of HAProxy's worker, which ends HAProxy", inject=lambda bed, _run: os.kill(bed.worker(), signal.SIGKILL), in_each_step=True),
    "foreign-weight": Fault("an operator gives the candidate weight 200", inject=lambda bed, _run: bed.ask("set server web/candidate weight 200")),
    "control-dies": Fault("SIGKILL of the control", inject=_signal("control", signal.SIGKILL)),
}
