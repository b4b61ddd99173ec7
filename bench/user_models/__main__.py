"""The command line: `python3 -m user_models --help`."""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path

from shared import processes, whole_run
from shared.errors import BadRun
from shared.known import Known
from shared.markdown import command
from shared.showdown import ENGINE, load_answer

from . import report
from .models import MODELS, Model

SIMULATED_S = 4_000.0
SEEDS = 5


def main() -> int:
    """Measures all rounds and writes the page."""
    parser = whole_run.common_options("bench-user-models", "Models of users against servers of known behaviour, and their simulation.", 5)
    parser.add_argument("--seconds", type=int, default=60, help="measured length of a run [%(default)s]")
    options = whole_run.parsed(parser, "engine")
    return whole_run.main(
        "bench-user-models", options.report_only, None, lambda: report.PAGE.write(options.results), lambda: _measure(options)
    )


def _measure(options: argparse.Namespace) -> Path:
    simulated = {model.name: _simulate(model) for model in MODELS}
    with tempfile.TemporaryDirectory(prefix="showdown-models-") as directory:

        def run(model: Model) -> dict[str, object]:
            return _run(model, Path(directory), options) | simulated[model.name]

        before, began = processes.machine_seconds()["busy"], time.monotonic()
        rows = whole_run.in_rounds(MODELS, options, run, lambda model: model.name)
        busy = (processes.machine_seconds()["busy"] - before) / (time.monotonic() - began)
        settings = {
            **whole_run.machine.facts(whole_run.REPOSITORY, options.engine),
            "rounds": options.rounds,
            "seconds of a run": options.seconds,
            "seconds of a simulation": f"{SEEDS} times {SIMULATED_S:,.0f}",
            "seed": options.seed,
            "CPUs busy, with other programs": f"{busy:.2f}",
            "commands": [
                command([ENGINE, *_argv(model, "127.0.0.1:PORT", Path(directory), options)[1:]], Path(directory)) for model in MODELS
            ],
        }
    return report.PAGE.save(rows, settings, options.results)


def _simulate(model: Model) -> dict[str, object]:
    times = sorted(time for seed in range(SEEDS) for time in model.simulate(random.Random(seed), SIMULATED_S))
    return {"simulated_mean_ms": round(statistics.fmean(times) * 1e3, 2), "simulated_p99_ms": round(times[int(0.99 * len(times))] * 1e3, 2)}


def _argv(model: Model, address: str, directory: Path, options: argparse.Namespace) -> list[str]:
    scenario = []
    if model.scenario:
        path = directory / "scenario.toml"
        path.write_text(model.scenario)
        scenario = ["--scenario", str(path)]
    return [str(options.engine.resolve()), "load", f"http://{address}/", *model.load, *scenario,
            "-t", "1", "--warmup", "10s", "-d", f"{options.seconds}s", "--format", "json", "--progress", "none"]  # fmt: skip


def _run(model: Model, directory: Path, options: argparse.Namespace) -> dict[str, object]:
    """One load. That it broke a rule of validity does not matter here: its times are compared with the simulation."""
    with Known(str(options.engine.resolve()), directory, 0, *model.server) as known:
        ran = processes.ask(_argv(model, known.address, directory, options), None)
    if ran.returncode not in (0, 3):
        raise BadRun(f"{model.name}: exit code {ran.returncode}: {ran.stderr[-300:]}")
    answer = load_answer(ran.stdout)
    times = answer["response_time_us"]
    return {
        "model": model.name,
        "operations_per_s": round(answer["throughput_per_s"], 1),
        "mean_ms": round(times["mean"] / 1e3, 2),
        "p99_ms": round(times["p99"] / 1e3, 2),
    }


if __name__ == "__main__":
    whole_run.exit_with(main)
