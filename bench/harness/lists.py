"""Lists, searches, a comparison and a history in an archive of many runs."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import time
from pathlib import Path

from shared.figures import Rows

from . import samples
from .bed import Api, Bed, Programs, peak_mb

COMPARED = 50
"""Runs of one comparison."""
PATHS = {
    "list: newest": "runs?limit=100",
    "list: oldest": "runs?limit=100&order=oldest",
    "list: a state and a tag": "runs?limit=100&tag=made-up&state=finished",
    "list: a tag of 20 runs": "runs?limit=100&tag=rare",
    "list: a tag that no run has": "runs?limit=100&tag=made-up&tag=none",
    "list: a workload that no run has": "runs?limit=100&workload=none&state=finished",
    "search: a text of many runs": "runs?limit=100&q=1.6",
    "search: a text of no run": "runs?limit=100&q=no+such+text",
}
RARE = 20


def measure(options: argparse.Namespace, programs: Programs, many: Path, home: Path, runs: int) -> Rows:
    """Each list of an archive of so many runs, in an order that mixes them."""
    archive = home / "runs"
    archive.mkdir(parents=True, exist_ok=True)
    subprocess.run([many, archive, str(runs)], check=True, stdout=subprocess.DEVNULL)
    rows: Rows = []
    with Bed(programs, home, None) as bed:
        api = Api(bed.runs)
        began = time.perf_counter()
        newest = api.call("GET", f"runs?limit={COMPARED}")
        rows += samples.rows("–", runs, "first list: the index is made, s", [time.perf_counter() - began])
        for run in newest[:RARE]:
            api.call("PATCH", f"runs/{run['id']}", {"add_tags": ["rare"], "remove_tags": [], "note": None})
        paths = {
            **PATHS,
            "list: the page that follows": f"runs?limit=100&after={newest[-1]['id']}",
            "compare 50 runs": "compare?runs=" + ",".join(run["id"] for run in newest),
            "history of a series": f"series/{newest[0]['series']}",
        }
        times: dict[str, list[float]] = {what: [] for what in paths}
        for _ in range(options.calls):
            for what, path in paths.items():
                began = time.perf_counter()
                api.call("GET", path)
                times[what].append((time.perf_counter() - began) * 1e3)
        for what, values in times.items():
            rows += samples.rows("–", runs, what, values)
        assert bed.server
        rows += samples.rows("–", runs, "memory of the server, MB", [peak_mb(bed.server.pid)])
    shutil.rmtree(home / "runs/.harness")
    return rows
