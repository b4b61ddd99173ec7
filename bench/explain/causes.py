"""The causes: which server has them, how they are planted, and which resource must be named first.

Planting and asking are left to `case.py`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cause:
    """A cause in a server at its capacity."""

    about: str
    """What limits the server, in the words of the page."""
    workload: str
    """A workload of this repository."""
    server: str
    """The server, with its knobs."""
    options: tuple[str, ...]
    """Options of `showdown explain`."""
    resources: tuple[str, ...]
    """The resources of which one must be the first suspect, by their id."""
    plant: str = ""
    """The value of PLANT, see plant.c; empty where the configuration or the load is the cause."""
    burns: bool = False
    """Whether a program that is not the server's uses the server's CPU."""
    settings: tuple[tuple[str, str], ...] = ()
    """Lines of the workload's definition that are replaced, by their key."""


CAUSES = {
    "mutex": Cause(
        "a lock around each request, held for 200 µs",
        "cache",
        "memcached:threads=4",
        ("--on-op", "get"),
        ("locks",),
        plant="mutex=200",
    ),
    "flush": Cause(
        "each flush takes 2 ms longer",
        "oltp",
        "postgres",
        ("--on-op", "update-index"),
        ("flush", "disk"),
        plant="flush=2000",
        settings=(("rows", "2000"),),
    ),
    "lookup": Cause(
        "each request waits 2 ms for a name server",
        "cache",
        "memcached:threads=1",
        ("--on-op", "get"),
        ("sleep",),
        plant="lookup=2000",
    ),
    "accept-queue": Cause(
        "an accept queue of one connection, under one connection an operation",
        "tls",
        "nginx:net.core.somaxconn=1",
        ("--on-op", "handshake"),
        ("accept_queue",),
    ),
    "workers": Cause(
        "4 workers for 64 connections",
        "static-web",
        "apache:mpm=prefork,max_request_workers=4",
        ("--on-op", "get-1k"),
        ("configured_limit",),
    ),
    "burner": Cause(
        "another program on the server's CPU",
        "static-web",
        "nginx",
        ("--on-op", "get-1k"),
        ("other_programs",),
        burns=True,
    ),
    "client": Cause(
        "a client that is slower than the server",
        "cache",
        "memcached",
        ("--on-op", "get"),
        ("client",),
    ),
    "loop": Cause(
        "a closed loop of 2 connections, each of which waits 2 ms in its own process of the server",
        "oltp",
        "postgres",
        ("--on-op", "point-select", "--connections", "2"),
        ("loop", "sleep"),
        plant="lookup=2000",
        settings=(("rows", "2000"),),
    ),
    "server-cpu": Cause(
        "nothing but the server's CPU",
        "static-web",
        "apache",
        ("--on-op", "get-1k"),
        ("server_cpu",),
    ),
}
"""The causes by name."""

NOT_PLANTED = {
    "malloc of one heap for all threads": "it needs two CPUs for the server",
    "a cold page cache, swap": "they need a group with little memory, which the keeper does not make yet",
    "GC pressure": "the store on the JVM makes its own load and is not held",
}
"""Causes that are not planted, with the reason."""
