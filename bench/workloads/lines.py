"""The commands of README's tables, and more questions about the same servers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CommandLine:
    """One command, as a user types it."""

    name: str
    """The name of its files of results."""
    workload: str
    arguments: str
    """The words after `showdown`, without the preset."""

    def argv(self, preset: str, blocks: int | None) -> list[str]:
        """The words of the command. The default preset needs no option, and neither does its number of blocks."""
        shape = [f"--{preset}"] if preset != "default" else []
        return ["showdown", *self.arguments.split(), *shape, *(["--blocks", str(blocks)] if blocks else [])]


LINES = [
    CommandLine("static-web", "static-web", "compare nginx apache"),
    CommandLine("cache", "cache", "compare memcached redis --measure throughput -c 2"),
    CommandLine("binlog", "oltp", "compare mariadb:binlog=on mariadb:binlog=off"),
    CommandLine("mail", "mail", "compare postfix exim"),
    CommandLine("tls", "tls", "compare nginx apache -w tls"),
    CommandLine("tls-bulk", "tls", "compare nginx apache -w tls --on-op bulk"),
    CommandLine("download", "download", "sweep nginx apache -w download --vary connections=1,2,4,8"),
    CommandLine("latches", "kv", "compare je:version=5.0.73,shared_latches=on je:version=5.0.73,shared_latches=off --on-op search"),
    CommandLine("search", "kv", "sweep lmdb sqlite rocksdb je --vary threads=1..64 --on-op search"),
    CommandLine("buffers", "block-io", "sweep disk:pattern=sequential --vary buffer=512..16Mi --on-op read"),
    CommandLine("build", "build", "sweep googletest:parts=library --vary jobs=1,2,4"),
    CommandLine("instances", "cache", "compare memcached:instances=2,threads=1 memcached:threads=2 --measure throughput -c 2"),
    CommandLine("background", "static-web", "compare nginx apache --background 40/s,connections=300"),
    CommandLine("databases", "oltp", "sweep mariadb postgres --vary connections=1..256 --on-op point-select"),
    CommandLine("commits", "oltp", "compare postgres:synchronous_commit=on postgres:synchronous_commit=off --on-op update-index"),
    CommandLine("update", "kv", "sweep lmdb sqlite rocksdb je --vary threads=1..64 --on-op update"),
    CommandLine("writes", "block-io", "compare disk:sync=none disk:sync=data --on-op write"),
    CommandLine("direct", "block-io", "sweep disk:cache=direct --vary buffer=512..16Mi --on-op read"),
    CommandLine("depth", "block-io", "sweep disk:engine=io_uring,cache=direct --vary depth=1..64 --on-op read --measure throughput"),
    CommandLine("tls-keys", "tls", "compare nginx:certificate=rsa,resumption=off nginx:certificate=ecdsa,resumption=off -w tls"),
    CommandLine("mpms", "static-web", "compare apache:mpm=event apache:mpm=prefork apache:mpm=worker --on-op get-1k"),
]
