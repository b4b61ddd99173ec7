"""The tunings of the planted series: ten that do nothing, and two that undo a planted slowness."""

from __future__ import annotations

from pathlib import Path

PLACEBOS = [f"placebo-{number}" for number in range(10)]
PLANTED = {"planted-a": ("slow_a", 100), "planted-b": ("slow_b", 50)}
"""A tuning, the knob that it sets to 0, and its slowness in thousandths of a request's CPU time."""

SLOWED = "known:" + ",".join(f"{knob}={slowness}" for knob, slowness in PLANTED.values())
AT_ITS_BEST = "known"
TRUTH = 1 + sum(slowness for _, slowness in PLANTED.values()) / 1000
"""The gain of both planted tunings together."""


def gain(tuning: str) -> float:
    """The gain of a planted tuning when the other one is there already."""
    return 1 + PLANTED[tuning][1] / 1000


def write(folder: Path) -> Path:
    """Writes the files of all tunings into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    knobs = {name: ("placebo_" + name.rpartition("-")[2], 1) for name in PLACEBOS} | {name: (knob, 0) for name, (knob, _) in PLANTED.items()}
    for name, (knob, value) in knobs.items():
        (folder / f"{name}.toml").write_text(
            f'title = "{name}"\nabout = "planted"\nservers = ["known"]\nscope = "server"\nundo = "restart"\nsource = "bench/tune"\n'
            f'[[level]]\nset = {{ {knob} = {value} }}\ntake_home = ["{knob} = {value}"]\n'
        )
    return folder
