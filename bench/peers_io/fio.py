"""The peer, on the file of our runner: the same bytes at the same place of the disk."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from peers.clients import BadRun

from .cases import FILE_BYTES, Case

WAYS = {("read", "random"): "randread", ("write", "random"): "randwrite",
        ("read", "sequential"): "read", ("write", "sequential"): "write"}  # fmt: skip


def argv(case: Case, file: Path, warmup_s: float, seconds: float) -> list[str]:
    """The command. As the runner: any slot may come again, the cache is left as it is, nothing is made or cut."""
    command = ["fio", "--name=peer", f"--filename={file}", f"--size={FILE_BYTES}",
               f"--rw={WAYS[case.operation, case.pattern]}", f"--bs={case.buffer}",
               f"--ioengine={case.engine}", f"--iodepth={case.depth}",
               f"--direct={int(case.cache == 'direct')}", "--time_based", f"--ramp_time={warmup_s * 1000:.0f}ms",
               f"--runtime={seconds * 1000:.0f}ms", "--norandommap", "--random_generator=tausworthe64",
               "--invalidate=0", "--scramble_buffers=0", "--fallocate=none",
               "--allow_file_create=0", "--overwrite=1", "--thread", "--lat_percentiles=1", "--clat_percentiles=0",
               "--output-format=json"]  # fmt: skip
    return command + (["--sync=dsync"] if case.sync == "data" else [])


def run(case: Case, file: Path, warmup_s: float, seconds: float) -> dict[str, float]:
    """Transfers a second, and microseconds at shares of them."""
    done = subprocess.run(argv(case, file, warmup_s, seconds), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BadRun(f"fio ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return figures(done.stdout, case.operation)


def figures(output: str, operation: str) -> dict[str, float]:
    """What its JSON says. Raises BadRun on errors."""
    job = json.loads(output[output.index("{") :])["jobs"][0]
    if job["error"] or not job[operation]["total_ios"]:
        raise BadRun(f"error {job['error']}, or nothing was done")
    times_ns = job[operation]["lat_ns"]["percentile"]
    return {
        "transfers_per_s": job[operation]["iops"],
        "p50_us": times_ns["50.000000"] / 1000,
        "p99_us": times_ns["99.000000"] / 1000,
    }
