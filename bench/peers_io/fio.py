"""fio, on the runner's file: the same bytes in the same place of the disk."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from shared.errors import BadRun

from .cases import FILE_BYTES, Case

WAYS = {("read", "random"): "randread", ("write", "random"): "randwrite",
        ("read", "sequential"): "read", ("write", "sequential"): "write"}  # fmt: skip


def argv(case: Case, file: Path, warmup_s: float, seconds: float) -> list[str]:
    """The command line. As with the runner, places repeat, the cache stays as it is, and the file is not made or truncated."""
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
    """Runs fio; returns transfers per second, and percentiles in microseconds."""
    done = subprocess.run(argv(case, file, warmup_s, seconds), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BadRun(f"fio: exit code {done.returncode}: {done.stderr.strip()[-300:]}")
    return figures(done.stdout, case.operation)


def figures(output: str, operation: str) -> dict[str, float]:
    """The figures in fio's JSON. Raises BadRun on errors."""
    job = json.loads(output[output.index("{") :])["jobs"][0]
    if job["error"] or not job[operation]["total_ios"]:
        raise BadRun(f"fio: error {job['error']}, or no transfers")
    times_ns = job[operation]["lat_ns"]["percentile"]
    return {
        "transfers_per_s": job[operation]["iops"],
        "p50_us": times_ns["50.000000"] / 1000,
        "p99_us": times_ns["99.000000"] / 1000,
    }
