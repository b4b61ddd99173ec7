"""The smallest plans with three blocks, one for each server. Each sets a kernel setting, a harmless one, in one variant."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from shared.whole_run import REPOSITORY

from .sandbox import Sandbox

SETTING = "net.ipv4.tcp_autocorking"
FILE = Path("/proc/sys/net/ipv4/tcp_autocorking")
ROWS = 500
"""Rows of each table: MariaDB's data shall load in an instant."""
WORKLOADS = {"nginx": "static-web", "mariadb": "small-oltp"}
"""The servers, and their workloads."""
TRIALS = 6


def other_value() -> str:
    """The value that the plan sets."""
    return "0" if setting() == "1" else "1"


def setting() -> str:
    """The value of the setting now."""
    return FILE.read_text().strip()


def write(server: str, sandbox: Sandbox) -> None:
    """Writes plan.toml."""
    workload = WORKLOADS[server]
    if workload == "small-oltp":
        folder = sandbox.home / "workloads" / workload
        shutil.copytree(REPOSITORY / "workloads/oltp", folder)
        definition = folder / "workload.toml"
        definition.write_text(re.sub(r"(?m)^rows = .*$", f"rows = {ROWS}", definition.read_text()))
    variants = [f"{server}:{SETTING}={other_value()}", server]
    options = ["--quick", "--blocks", "3", "--spare-blocks", "0", "--measure", "throughput", "--seed", "1"]
    with (sandbox.home / "plan.toml").open("w") as plan:
        text = _output(sandbox, ["plan", "compare", *variants, "--workload", workload, *options])
        plan.write(shorter(text))


def shorter(plan: str) -> str:
    """The plan with a closed loop of 300 ms."""
    return re.sub(r'(?m)^(closed_loop|min|max) = ".*"$', r'\1 = "300ms"', plan)


def _output(sandbox: Sandbox, arguments: list[str]) -> str:
    ran = subprocess.run([str(sandbox.showdown), *arguments], cwd=sandbox.home, capture_output=True, text=True)
    if ran.returncode != 0:
        raise RuntimeError(ran.stderr.strip())
    return ran.stdout
