"""Facts about the machine, the binary and the packages of a measurement."""

from __future__ import annotations

import datetime
import hashlib
import os
import platform
import re
import subprocess
from pathlib import Path

PACKAGES = ["nginx", "memcached", "wrk", "apache2-utils", "nghttp2-client", "hey", "libmemcached-tools", "linux-perf"]


def facts(repository: Path, engine: Path) -> dict[str, str]:
    """Names and values, in the order of the page."""
    cpu = _fields(_output(["lscpu"]))
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "CPU": cpu.get("Model name", "unknown") + f" (family {cpu.get('CPU family')}, model {cpu.get('Model')})",
        "CPUs": f"{os.cpu_count()}, {cpu.get('Thread(s) per core', '?')} thread(s) a core",
        "hypervisor": cpu.get("Hypervisor vendor", "none"),
        "kernel": f"{platform.system()} {platform.release()}",
        "system": _fields(Path("/etc/os-release").read_text(), "=").get("PRETTY_NAME", "unknown").strip('"'),
        "engine": f"commit {commit(repository)}, {_output(['rustc', '--version'])}",
        "engine's binary": f"sha256 {hashlib.sha256(engine.read_bytes()).hexdigest()[:16]}",
        "packages": ", ".join(f"{name} {version(name)}" for name in PACKAGES),
    }


def _output(argv: list[str]) -> str:
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _fields(text: str, separator: str = ":") -> dict[str, str]:
    pairs = (re.split(rf"\s*{separator}\s*", line.strip(), maxsplit=1) for line in text.splitlines())
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def commit(repository: Path) -> str:
    """The commit of the sources, and whether they have changed since."""
    at = ["git", "-C", str(repository)]
    # Only the sources of the engine count as changes. A page of results does not.
    changed = _output([*at, "status", "--porcelain", "--untracked-files=no", "--", "crates", "Cargo.toml", "Cargo.lock"])
    return _output([*at, "rev-parse", "--short=10", "HEAD"]) + (" with changes" if changed else "")


def version(package: str) -> str:
    """The version of an installed package."""
    return _output(["dpkg-query", "-W", "-f", "${Version}", package])
