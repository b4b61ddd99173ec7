"""Why a run does not count, or a server does not start."""

from __future__ import annotations


class BadRun(Exception):
    """The run does not count; the message has the reason."""


class ServerError(Exception):
    """A server does not start; the message has its own reason."""
