"""Calls the binary as a user does, by its name on the path, and reads its JSON."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

from . import processes
from .errors import BadRun

ENGINE = "showdown"
"""The name of the engine in rows and tables."""
NO_VERDICT = 3
"""Exit code of a run whose measurements do not count."""


class NoAnswer(Exception):
    """A command failed; the message is its own."""


def ask(showdown: Path, arguments: list[str], directory: Path | None = None) -> str:
    """Runs a command and returns its output. A run without a verdict has output too.

    The binary's directory is on the path, because workloads may start showdown by its name.
    """
    argv = [showdown.name, *arguments]
    environment = os.environ | {"PATH": f"{showdown.parent}{os.pathsep}{os.environ['PATH']}"}
    ran = processes.ask(argv, directory, environment)
    if ran.returncode not in (0, NO_VERDICT):
        raise NoAnswer(f"{shlex.join(argv)}: {ran.stderr.strip() or ran.returncode}")
    return ran.stdout


def json_object(output: str) -> dict:
    """The object that `showdown load --format json` prints."""
    try:
        return json.loads(output[output.index("{") : output.rindex("}") + 1])
    except ValueError:
        raise BadRun(f"no JSON in the output: {output.strip()[-300:]}") from None


def load_answer(output: str) -> dict:
    """The same object; BadRun if any operation failed.

    An operation that was due and not sent, because no connection was free, is not a failure of the server.
    """
    answer = json_object(output)
    failures = {kind: number for kind, number in answer["errors"].items() if number and kind != "unsent"}
    if failures:
        raise BadRun(f"errors: {failures}")
    return answer
