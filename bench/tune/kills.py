"""Searches that are killed while they change a kernel setting, and what is left after `showdown undo`."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

from shared import processes, series
from shared.showdown import ask

COLUMNS = "at commit after_s setting_then setting_after processes_after folders_after".split()
SETTING = Path("/proc/sys/net/ipv4/tcp_autocorking")
COMMAND = "tune nginx --only kernel-tcp-autocorking --measure throughput --on-op get-1k --quick --for 30m --progress none".split()
LATEST_S = 60.0


def kill_once(showdown: Path, commit: str, work: Path) -> dict[str, object]:
    """Kills a search at a random moment, restores, and looks at what is left."""
    work.mkdir(parents=True, exist_ok=True)
    before = SETTING.read_text().strip()
    after_s = random.uniform(1.0, LATEST_S)
    process = subprocess.Popen(
        [str(showdown), *COMMAND], cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    time.sleep(after_s)
    started = processes.descendants(process.pid)
    then = SETTING.read_text().strip()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    # The supervisor of a server ends it when its starter is gone.
    time.sleep(3)
    ask(showdown, ["undo"], work)
    left = [pid for pid in started if pid != process.pid and Path(f"/proc/{pid}").exists()]
    # The next start sweeps the folders of searches that nobody has locked and that are old enough; these are not.
    folders = list((work / "runs").glob(".tuning-*"))
    return {
        "at": series.now(),
        "commit": commit,
        "after_s": f"{after_s:.1f}",
        "setting_then": "changed" if then != before else "as before",
        "setting_after": "as before" if SETTING.read_text().strip() == before else "changed",
        "processes_after": len(left),
        "folders_after": len(folders),
    }
