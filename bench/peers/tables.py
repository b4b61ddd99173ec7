"""The tables of this bench, by column."""

from __future__ import annotations

from pathlib import Path

from shared.store import Store

KEY = ("round", "protocol", "client")
RESULT_COLUMNS = {
    "cycles": (
        "requests seconds requests_per_s user_cycles all_cycles samples clock_hz"
        " client_cpu spin_share server_cpu others_cpu steal"
    ),
    "syscalls": "requests_per_s syscalls strace_requests strace_syscalls",
    "lag": "rate achieved_per_s unsent lag_p50_us lag_p99_us lag_max_us response_time_p50_us response_time_p99_us valid",
    "paced": "rate achieved_per_s client_cpu spin_share server_cpu others_cpu steal",
    "memory": "connections resident_bytes",
}
TABLES = {name: [*KEY, "order", *columns.split()] for name, columns in RESULT_COLUMNS.items()}


def store(directory: Path) -> Store:
    """The rows of this bench in a directory."""
    return Store(directory, TABLES, KEY)
