"""The command line of each client for the same work, point selects by a prepared statement, and how its output is checked."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from shared.errors import BadRun
from shared.showdown import ENGINE, load_answer

from .servers import DATABASE, USER, Database, Mariadb, Postgres

SYSBENCH, PGBENCH, PGBENCH_SAME = "sysbench", "pgbench -S", "pgbench, the engine's statement"
ROWS = 100_000
"""Rows of the table, as many as `pgbench -i` makes."""


@dataclass(frozen=True)
class Task:
    """The work of a client."""

    server: Database
    connections: int
    seconds: int
    engine: str
    directory: Path
    """A place for the scripts of the client."""


@dataclass(frozen=True)
class Client:
    """A program, its server, and how its output is parsed."""

    name: str
    server: str
    argv: Callable[[Task], list[str]]
    claimed: Callable[[str], tuple[int, float]]
    """Statements, and statements per second, from the client's output. Raises BadRun on errors."""
    exit_codes: tuple[int, ...] = (0,)


def _engine(task: Task) -> list[str]:
    shape = ["-c", str(task.connections), "-t", "1", "-d", f"{task.seconds}s", "--seed", "1", "--rows", str(ROWS)]
    return [task.engine, "load", task.server.url(), *shape, "--format", "json", "--progress", "none"]


def _engine_claimed(output: str) -> tuple[int, float]:
    answer = load_answer(output)
    return int(answer["requests"]), float(answer["throughput_per_s"])


def _sysbench(task: Task) -> list[str]:
    at = ["--mysql-host=127.0.0.1", f"--mysql-port={task.server.port}", f"--mysql-user={USER}", f"--mysql-db={DATABASE}"]
    if task.server.name == Postgres.name:
        at = ["--db-driver=pgsql", "--pgsql-host=127.0.0.1", f"--pgsql-port={task.server.port}",
              f"--pgsql-user={USER}", f"--pgsql-db={task.server.database}"]  # fmt: skip
    return ["sysbench", "oltp_point_select", *at, "--tables=1", f"--table-size={ROWS}", "--rand-type=uniform",
            f"--threads={task.connections}", f"--time={task.seconds}", "run"]  # fmt: skip


def _sysbench_claimed(output: str) -> tuple[int, float]:
    found = re.search(r"transactions:\s+(\d+)\s+\(([\d.]+) per sec", output)
    if not found or not re.search(r"ignored errors:\s+0 ", output):
        raise BadRun(f"errors, or no result: {output.strip()[-300:]}")
    return int(found[1]), float(found[2])


def _pgbench(task: Task, own_tables: bool) -> list[str]:
    at = ["-h", "127.0.0.1", "-p", str(task.server.port), "-U", USER]
    shape = ["-M", "prepared", "-n", "-c", str(task.connections), "-j", "1", "-T", str(task.seconds)]
    if own_tables:
        return ["pgbench", *at, *shape, "-S", task.server.database]
    script = task.directory / "point-select.sql"
    script.write_text(f"\\set id random(1, {ROWS})\nSELECT c FROM sbtest1 WHERE id = :id;\n")
    return ["pgbench", *at, *shape, "-f", str(script), task.server.database]


def _pgbench_claimed(output: str) -> tuple[int, float]:
    count = re.search(r"actually processed: (\d+)", output)
    speed = re.search(r"tps = ([\d.]+)", output)
    if not count or not speed or not re.search(r"failed transactions: 0 ", output):
        raise BadRun(f"errors, or no result: {output.strip()[-300:]}")
    return int(count[1]), float(speed[1])


CLIENTS = [
    # Exit code 3: the engine reports that the client was the limit, which is intended here.
    Client(ENGINE, Mariadb.name, _engine, _engine_claimed, exit_codes=(0, 3)),
    Client(SYSBENCH, Mariadb.name, _sysbench, _sysbench_claimed),
    Client(ENGINE, Postgres.name, _engine, _engine_claimed, exit_codes=(0, 3)),
    Client(PGBENCH, Postgres.name, lambda task: _pgbench(task, True), _pgbench_claimed),
    Client(PGBENCH_SAME, Postgres.name, lambda task: _pgbench(task, False), _pgbench_claimed),
    Client(SYSBENCH, Postgres.name, _sysbench, _sysbench_claimed),
]
