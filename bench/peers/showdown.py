"""The binary as a user calls it: by its name, found on the path."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

NO_VERDICT = 3
"""Exit code of a run whose measurements do not count."""


class NoAnswer(Exception):
    """A command failed: its words."""


def ask(showdown: Path, arguments: list[str], directory: Path | None = None) -> str:
    """What it prints; a run without a verdict has an answer too. Workloads may call showdown by its name themselves."""
    argv = [showdown.name, *arguments]
    environment = os.environ | {"PATH": f"{showdown.parent}{os.pathsep}{os.environ['PATH']}"}
    ran = subprocess.run(argv, cwd=directory, env=environment, capture_output=True, text=True)
    if ran.returncode not in (0, NO_VERDICT):
        raise NoAnswer(f"{shlex.join(argv)}: {ran.stderr.strip() or ran.returncode}")
    return ran.stdout
