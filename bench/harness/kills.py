"""Parts of the harness are killed at random moments while entries come and go; then each entry is looked for."""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from pathlib import Path

from shared import whole_run
from shared.errors import ServerError
from shared.figures import Rows

from . import samples
from .bed import Api, Bed, Programs, with_seed
from .database import Postgres

CONTROLLERS = 6
RUN_MS, EVERY_MS = 400, 50
WAITING = 12
"""Entries that are kept waiting."""
PAUSE_S = (0.02, 0.25)
"""Between two kills."""
SETTLED_S = 240.0
"""A lease of 60 s may have to end after the last kill, and another one after it."""
OPEN = {"waiting", "claimed", "running", "storing", "paused"}
PARTS = {"controller": 45, "run": 30, "server": 20, "database": 5}
"""What is killed, and how often of a hundred times."""


def measure(options: argparse.Namespace, programs: Programs, home: Path, store: str, database: Postgres | None) -> Rows:
    """Kills, and what has become of each entry."""
    chance = random.Random(options.seed)
    with Bed(programs, home, database) as bed:
        api, plan = Api(bed.runs), bed.plan()
        submitted, killed, back_ms = 0, Counter(), []
        for number in range(CONTROLLERS):
            bed.start_controller(number, RUN_MS, EVERY_MS)
        parts = [part for part in PARTS if part != "database" or database]
        while killed.total() < options.kills:
            submitted = _fill(api, plan, submitted)
            time.sleep(chance.uniform(*PAUSE_S))
            part = chance.choices(parts, [PARTS[name] for name in parts])[0]
            if _kill(bed, part, chance, back_ms):
                killed[part] += 1
                if killed.total() % 100 == 0:
                    whole_run.progress(f"{store}: {killed.total()} kills, {submitted} entries")
        entries = _settled(api)
        rows = samples.rows(store, 0, "server is back", back_ms)
        for part, times in killed.items():
            rows += samples.rows(store, 0, f"killed: {part}", [times])
        for what, times in _found(bed, entries, submitted).items():
            rows += samples.rows(store, 0, what, [times])
    return rows


def _fill(api: Api, plan: str, submitted: int) -> int:
    """Submits until some entries wait; the number of all entries so far. A call that has no answer is repeated with its key."""
    waiting = sum(entry["state"] == "waiting" for entry in api.until_called("GET", "entries")["entries"])
    for seed in range(submitted + 1, submitted + 1 + max(0, WAITING - waiting)):
        api.until_called("POST", "entries", {"plan": with_seed(plan, seed), "key": f"seed {seed}"})
        submitted = seed
    return submitted


def _kill(bed: Bed, part: str, chance: random.Random, back_ms: list[float]) -> bool:
    """Kills one part, and starts it again; whether it was there."""
    number = chance.randrange(CONTROLLERS)
    if part == "run":
        return bed.kill_run(number)
    if part == "controller":
        bed.kill_controller(number)
        bed.start_controller(number, RUN_MS, EVERY_MS)
    elif part == "server":
        back_ms.append(bed.kill_server())
    else:
        assert bed.database
        bed.database.crash()
    return True


def _settled(api: Api) -> list[dict]:
    """All entries, once each is at its end."""
    end = time.monotonic() + SETTLED_S
    while time.monotonic() < end:
        if not api.until_called("GET", "entries")["entries"]:
            return _all(api)
        time.sleep(0.5)
    left = [(entry["id"], entry["state"], entry.get("reason")) for entry in api.until_called("GET", "entries")["entries"]]
    raise ServerError(f"entries do not end: {left[:5]}")


def _all(api: Api) -> list[dict]:
    found, before = [], ""
    while True:
        page = api.until_called("GET", f"entries?all=true{before}")["entries"]
        if not page:
            return found
        found += page
        before = f"&before={min(entry['id'] for entry in page)}"


def _found(bed: Bed, entries: list[dict], submitted: int) -> dict[str, float]:
    """What has become of the entries: the counts that must be 0, and how they ended."""
    told = bed.told()
    begun = Counter(seed for what, seed, _, _ in told if what == "begin")
    tokens = Counter(token for what, _, token, _ in told if what == "begin")
    ids = {entry["id"] for entry in entries}
    unstored = [entry for entry in entries if entry["state"] == "done" and not (bed.runs / entry["run"] / "plan.toml").is_file()]
    found: dict[str, float] = {
        "entries": submitted,
        "entries that vanished": abs(submitted - len(ids)) + (len(entries) - len(ids)),
        "runs lost: done, and not in the archive": len(unstored),
        "runs doubled: begun twice": sum(times > 1 for times in begun.values()) + sum(times > 1 for times in tokens.values()),
        "hosts with two holders": sum(what == "conflict" for what, *_ in told),
    }
    for state, times in sorted(Counter(entry["state"] for entry in entries).items()):
        found[f"ended: {state}"] = times
    return found
