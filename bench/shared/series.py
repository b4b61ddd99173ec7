"""The command line of benches that are series: rounds go on for a given time, every row is on disk at once, and the page is written
however the series ends. What a round is, and what the page says, is left to the bench."""

from __future__ import annotations

import argparse
import signal
import time
from collections.abc import Callable
from pathlib import Path

from .showdown import NoAnswer
from .whole_run import RESULTS, progress


def parse(parser: argparse.ArgumentParser, *binaries: str) -> argparse.Namespace:
    """The bench's own options and those of every series. It needs --showdown and these binaries to measure."""
    parser.add_argument("--showdown", type=Path, help="the binary")
    parser.add_argument("--minutes", type=float, default=60, help="start nothing after this time [%(default)s]")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where to write the page [docs/results]")
    parser.add_argument("--report-only", action="store_true", help="write the page again from its rows")
    options = parser.parse_args()
    missing = [f"--{name}" for name in ("showdown", *binaries) if getattr(options, name) is None]
    if missing and not options.report_only:
        parser.error(f"required to measure: {', '.join(missing)}")
    return options


def run(options: argparse.Namespace, target: str, one_round: Callable[[float], None], text: Callable[[], str]) -> int:
    """Runs rounds until the time is over. A round gets the end on the monotonic clock, and starts nothing after it."""
    # What a round has started is stopped, however the series ends.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    end = time.monotonic() + (0 if options.report_only else 60 * options.minutes)
    try:
        while time.monotonic() < end:
            one_round(end)
    except NoAnswer as error:
        progress(f"bench-{target}: {error}")
        return 1
    except KeyboardInterrupt:
        progress(f"bench-{target}: stopped: run the same command to continue")
    finally:
        path = options.results / f"{target}.md"
        path.write_text(text())
        print(path)
    return 0


def now() -> str:
    """The time of a row."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
