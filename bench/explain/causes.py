"""The causes: which server has them, how they are planted, and which resource must be named first.

Planting and asking are left to `case.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .group import Room

FEW_KEYS = (("keys", "2000"),)
"""Each value that is loaded waits as a request does."""
FILES = 120
"""Files of the cold page cache, of 4 MiB each."""


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
    burns: tuple[str, int] = ("", 0)
    """Whose CPU other programs use, the server's or the client's, and how many they are."""
    settings: tuple[tuple[str, str], ...] = ()
    """Lines of the workload's definition that are replaced, by their key."""
    names_slowly: bool = False
    """Whether a slow name server is there; its port is the value of PLANT."""
    room: Room = Room()
    """Memory, disk and swap space that the server has."""
    edit: Callable[[str], str] | None = None
    """Another change of the workload's definition."""


def many_files(definition: str) -> str:
    """The definition with more files than memory has room for, each of them an operation."""
    head, _, servers = definition.partition("\n[data]\n")
    servers = servers[servers.index("\n[server.") :]
    servers, _, _ = servers.partition("\n[[load.op]]\n")
    names = [f"cold-{number}" for number in range(FILES)]
    data = "".join(f'    {{ path = "{name}", size = "4m" }},\n' for name in names)
    operations = "".join(
        f'\n[[load.op]]\nname = "{name}"\nweight = 1\npath = "/{name}"\nexpect = {{ status = 200, bytes = 4194304 }}\n'
        for name in names
    )
    return f'{head}\n[data]\nfiles = [\n{data}]\n{servers}{operations}\n[metrics]\noperations = "requests"\n'


def new_connections(definition: str) -> str:
    """The definition with an operation that has a connection of its own."""
    headers, expect = '{ Connection = "close" }', "{ status = 200, bytes = 1024 }"
    operation = f'[[load.op]]\nname = "connect"\npath = "/1k"\nheaders = {headers}\nexpect = {expect}\n\n'
    return definition.replace("[metrics]\n", operation + "[metrics]\n")


CAUSES = {
    "mutex": Cause(
        "a lock around each request, held for 200 µs",
        "cache",
        "memcached:threads=4",
        ("--on-op", "get"),
        ("locks",),
        plant="mutex=200",
        settings=FEW_KEYS,
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
    "malloc": Cause(
        "a heap for all threads, whose lock is held for 200 µs in each request",
        "cache",
        "memcached:threads=4",
        ("--on-op", "get"),
        ("malloc",),
        plant="malloc=200",
        settings=FEW_KEYS,
    ),
    "lookup": Cause(
        "each request waits 2 ms for a name server",
        "cache",
        "memcached:threads=1",
        ("--on-op", "get"),
        ("lookups",),
        plant="lookup=PORT",
        names_slowly=True,
        settings=FEW_KEYS,
    ),
    "syscall": Cause(
        "each request makes a system call that takes 5 µs more",
        "cache",
        "memcached",
        ("--on-op", "get"),
        ("system_calls",),
        plant="syscall=5",
    ),
    "accept-queue": Cause(
        "an accept queue of one connection, under one connection an operation that waits 2 ms for a backend",
        "static-web",
        "apache:backlog=1",
        ("--on-op", "connect"),
        ("accept_queue",),
        plant="wait=2000",
        edit=new_connections,
    ),
    "workers": Cause(
        "4 workers for 64 connections, each of which waits 2 ms for a backend",
        "static-web",
        "apache:mpm=prefork,max_request_workers=4",
        ("--on-op", "get-1k"),
        ("configured_limit",),
        plant="wait=2000",
    ),
    "burner": Cause(
        "another program on the server's CPU",
        "static-web",
        "nginx",
        ("--on-op", "get-1k"),
        ("other_programs",),
        burns=("server", 1),
    ),
    "page-cache": Cause(
        "files of 480 MB in 128 MB of memory, from a disk that reads 150 MB/s",
        "static-web",
        "nginx",
        ("--connections", "8"),
        ("page_cache", "disk"),
        room=Room(memory_mb=128, read_mb_per_s=150),
        edit=many_files,
    ),
    "swap": Cause(
        "500 MB of values in 200 MB of memory, with swap space",
        "cache",
        "memcached",
        ("--on-op", "get"),
        ("swap",),
        settings=(("keys", "300000"), ("value_size", '"1k..2k"'), ("popularity", '"uniform"')),
        room=Room(memory_mb=200, swap_mb=800),
    ),
    "gc": Cause(
        "a heap of Java that has little room beside the store's cache",
        "kv",
        "je:heap=48",
        ("--on-op", "search"),
        ("gc",),
    ),
    "client": Cause(
        "three other programs on the client's CPU",
        "cache",
        "memcached",
        ("--on-op", "get"),
        ("client",),
        burns=("client", 3),
    ),
    "loop": Cause(
        "a closed loop of 2 connections, each of which waits 2 ms in its own process of the server",
        "oltp",
        "postgres",
        ("--on-op", "point-select", "--connections", "2"),
        ("loop",),
        plant="wait=2000",
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
