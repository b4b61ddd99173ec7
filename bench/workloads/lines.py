"""The lines of README's table of workloads, and some that administrators ask about the same servers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One question to showdown, as a user would type it."""

    name: str
    """Of its files among the results."""
    workload: str
    arguments: str
    """What comes after `showdown`, without the length."""

    def argv(self, length: str, blocks: int | None) -> list[str]:
        """The command's words; the length is none for the default, nor are blocks where none are given."""
        shape = [f"--{length}"] if length != "default" else []
        return ["showdown", *self.arguments.split(), *shape, *(["--blocks", str(blocks)] if blocks else [])]


LINES = [
    Line("static-web", "static-web", "compare nginx apache"),
    Line("cache", "cache", "compare memcached redis --measure throughput -c 2"),
    Line("binlog", "oltp", "compare mariadb:binlog=on mariadb:binlog=off"),
    Line("mail", "mail", "compare postfix exim"),
    Line("tls", "tls", "compare nginx apache -w tls"),
    Line("tls-bulk", "tls", "compare nginx apache -w tls --on-op bulk"),
    Line("download", "download", "sweep nginx apache -w download --vary connections=1,2,4,8"),
    Line("latches", "kv", "compare je:version=5.0.73,shared_latches=on je:version=5.0.73,shared_latches=off --on-op search"),
    Line("search", "kv", "sweep lmdb sqlite rocksdb je --vary threads=1..64 --on-op search"),
    Line("buffers", "block-io", "sweep disk:pattern=sequential --vary buffer=512..16Mi --on-op read"),
    Line("build", "build", "sweep googletest:parts=library --vary jobs=1,2,4"),
    Line("instances", "cache", "compare memcached:instances=2,threads=1 memcached:threads=2 --measure throughput -c 2"),
    Line("background", "static-web", "compare nginx apache --background 40/s,connections=300"),
    Line("databases", "oltp", "sweep mariadb postgres --vary connections=1..256 --on-op point-select"),
    Line("commits", "oltp", "compare postgres:synchronous_commit=on postgres:synchronous_commit=off --on-op update-index"),
    Line("update", "kv", "sweep lmdb sqlite rocksdb je --vary threads=1..64 --on-op update"),
    Line("writes", "block-io", "compare disk:sync=none disk:sync=data --on-op write"),
    Line("direct", "block-io", "sweep disk:cache=direct --vary buffer=512..16Mi --on-op read"),
    Line("depth", "block-io", "sweep disk:engine=io_uring,cache=direct --vary depth=1..64 --on-op read --measure throughput"),
    Line("tls-keys", "tls", "compare nginx:certificate=rsa,resumption=off nginx:certificate=ecdsa,resumption=off -w tls"),
    Line("mpms", "static-web", "compare apache:mpm=event apache:mpm=prefork apache:mpm=worker --on-op get-1k"),
]
