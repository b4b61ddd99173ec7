"""The order of parts that run beside one another."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Part:
    """What begins once the parts that it names have succeeded."""

    name: str
    run: Callable[[], bool]
    """Returns whether it succeeded."""
    after: tuple[str, ...] = ()


def among(parts: list[Part]) -> list[Part]:
    """The parts without what they would wait for outside of them: who asks for some has done the others."""
    names = {part.name for part in parts}
    return [replace(part, after=tuple(name for name in part.after if name in names)) for part in parts]


def run(parts: list[Part], stop: Callable[[], None]) -> list[str]:
    """Runs all parts; returns the names of those that did not succeed. `stop` ends what runs, when this is interrupted."""
    waiting = {part.name: part for part in parts}
    succeeded: set[str] = set()
    failed: list[str] = []
    running: dict[Future[bool], str] = {}
    with ThreadPoolExecutor(len(parts)) as threads:
        try:
            while True:
                for part in [part for part in waiting.values() if succeeded.issuperset(part.after)]:
                    running[threads.submit(part.run)] = part.name
                    del waiting[part.name]
                if not running:
                    return [*failed, *waiting]
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    name = running.pop(future)
                    succeeded.add(name) if future.result() else failed.append(name)
        except BaseException:
            stop()
            raise
