"""One case: a cause is planted, `showdown explain` is asked, and its first suspect is compared with the cause."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shared import processes
from shared.errors import BadRun
from shared.whole_run import REPOSITORY

from .causes import CAUSES, Cause
from .group import group
from .name_server import slow_name_server

COLUMNS = [
    *("cause", "round", "resource", "word", "named", "decided", "sentence", "throughput_per_s"),
    *("profiled", "waking", "rest", "watched", "watched_s", "seconds", "exit", "commit", "message"),
]
"""`profiled` and `watched`: throughput while profiling and while watching waits, as a share of that without. `waking` and
`rest`: the shares of the measured CPU time that threads had before they ran, and that nothing explains. `watched_s`: after how long watching has ended by itself."""
LOOKUP_S = 0.002
"""How long the slow name server takes."""
PLANT = Path(__file__).with_name("plant.c")
DECIDED = ("limits", "shared")
"""Words that an experiment has given."""


def build_plant(work: Path) -> Path:
    """Compiles the library that plants causes; any user can read it, for servers have users of their own."""
    library = work / "plant.so"
    work.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(library), str(PLANT), "-ldl", "-lresolv"], check=True)
    library.chmod(0o755)
    return library


def run(name: str, number: int, showdown: Path, library: Path, work: Path) -> dict[str, object]:
    """Plants the cause and asks; returns the row."""
    cause = CAUSES[name]
    home = work / f"{name}-{number}"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    asked = [str(showdown), "explain", cause.server, *cause.options]
    asked += ["--quick", "--format", "json", "--progress", "none", "--runs", str(home / "runs")]
    began = time.monotonic()
    with _burner(cause), _name_server(cause) as port, group(cause.room, home) as entering:
        command = [*asked, "--workload", _workload(cause, library, home, port, entering)]
        ran = processes.ask(command, home)
    check_alone(ran.stderr)
    seconds = time.monotonic() - began
    row = {"cause": name, "round": number, "seconds": f"{seconds:.0f}", "exit": ran.returncode}
    return row | outcome(cause, ran.stdout, ran.stderr)


def check_alone(errors: str) -> None:
    """Raises BadRun if another measurement ran beside: its case is none."""
    if "another showdown is measuring" in errors:
        raise BadRun("another showdown is measuring on this machine: wait until it has ended, and continue")


def outcome(cause: Cause, answer: str, errors: str) -> dict[str, object]:
    """What the answer says of the cause: its first suspect, whether that is the cause, and whether an experiment says so."""
    try:
        server = json.loads(answer)["servers"][0]
    except (ValueError, KeyError, IndexError):
        lines = errors.strip().splitlines()
        return {"named": "", "decided": "", "message": lines[-1] if lines else "no answer"}
    first = next(iter(server["suspects"]), None)
    found = {"sentence": server["sentence"], "throughput_per_s": f"{server['held']['throughput_per_s']:.0f}"} | costs(server)
    if first is None or first["word"] == "cleared":
        return found | {"resource": "", "word": "", "named": "", "decided": ""}
    named = "yes" if first["resource"] in cause.resources else ""
    decided = "yes" if first["word"] in DECIDED else ""
    return found | {"resource": first["resource"], "word": first["word"], "named": named, "decided": decided}


def costs(server: dict) -> dict[str, object]:
    """What profiling and watching did to throughput, and which shares of the CPU time are in no function."""
    profile, waits = server.get("profile") or {}, server.get("waits") or {}
    cpu_us = profile.get("cpu_us") or None

    def share(value: float | None, whole: float | None = 1.0) -> str:
        return "" if value is None or whole is None else f"{value / whole:.4f}"

    return {
        "profiled": share(profile.get("throughput_ratio")),
        "waking": share(profile.get("waking_us"), cpu_us),
        "rest": share(profile.get("rest_us"), cpu_us),
        "watched": share(waits.get("throughput_ratio")),
        "watched_s": share(waits.get("stopped_after_s")),
    }


def _workload(cause: Cause, library: Path, home: Path, port: int, entering: Path | None) -> str:
    """The workload, or a copy of it with the cause in its server. `entering` is a program that executes the server in a group."""
    if not cause.plant and not cause.settings and cause.edit is None and entering is None:
        return cause.workload
    folder = home / "workload"
    shutil.copytree(REPOSITORY / "workloads" / cause.workload, folder)
    definition = folder / "workload.toml"
    text = planted(definition.read_text(), cause, library).replace("lookup=PORT", f"lookup={port}")
    definition.write_text(text if entering is None else in_group(text, cause, entering))
    return str(definition)


def in_group(definition: str, cause: Cause, entering: Path) -> str:
    """The definition with a program before the server in its command."""
    before, head, after = definition.partition(f"[server.{cause.server.split(':')[0]}]\n")
    return before + head + re.sub(r"(?m)^start = \[", f'start = ["{entering}", "{{{{ data }}}}", ', after, count=1)


def planted(definition: str, cause: Cause, library: Path) -> str:
    """The definition with the cause."""
    for key, value in cause.settings:
        definition = re.sub(rf"(?m)^{key} = .*$", f"{key} = {value}", definition)
    if cause.edit is not None:
        definition = cause.edit(definition)
    if not cause.plant:
        return definition
    server = cause.server.split(":")[0]
    head = f"[server.{server}]\n"
    own = definition.split(head)[1].split("\n[")[0]
    if re.search(r"(?m)^environment\b", own):
        raise ValueError(f"{server} has an environment already")
    variables = f'environment = {{ LD_PRELOAD = "{library}", PLANT = "{cause.plant}" }}\n'
    return definition.replace(head, head + variables, 1)


@contextmanager
def _burner(cause: Cause) -> Iterator[None]:
    """Programs that use one of two CPUs: the client has the first, the server the last."""
    whose, count = cause.burns
    cpus = os.sched_getaffinity(0)
    cpu = max(cpus) if whose == "server" else min(cpus)
    burners = [processes.start(["sh", "-c", "while :; do :; done"], {cpu}, Path("/dev/null")) for _ in range(count)]
    try:
        yield
    finally:
        for burner in burners:
            processes.stop(burner)


@contextmanager
def _name_server(cause: Cause) -> Iterator[int]:
    """The port of a slow name server; 0 where none is needed."""
    if not cause.names_slowly:
        yield 0
        return
    with slow_name_server(LOOKUP_S) as port:
        yield port
