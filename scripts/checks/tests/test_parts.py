"""Parts begin once what they wait for has succeeded."""

from __future__ import annotations

import unittest

from checks import parts
from checks.parts import Part


class PartsTest(unittest.TestCase):
    def test_a_part_begins_after_those_that_it_names(self) -> None:
        began: list[str] = []

        def part(name: str, *after: str, succeeds: bool = True) -> Part:
            return Part(name, lambda: began.append(name) or succeeds, after)

        self.assertEqual(parts.run([part("tests", "build"), part("build")], lambda: None), [])
        self.assertEqual(began, ["build", "tests"])

    def test_what_comes_after_a_failure_is_not_run(self) -> None:
        def never() -> bool:
            raise AssertionError("it was run")

        broken = [Part("tests", never, ("build",)), Part("build", lambda: False), Part("page", lambda: True)]
        self.assertEqual(parts.run(broken, lambda: None), ["build", "tests"])

    def test_who_asks_for_some_parts_has_done_the_others(self) -> None:
        [only] = parts.among([Part("tests", lambda: True, ("build",))])
        self.assertEqual(only.after, ())

    def test_an_interruption_ends_what_runs(self) -> None:
        stopped: list[bool] = []

        def interrupted() -> bool:
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            parts.run([Part("tests", interrupted)], lambda: stopped.append(True))
        self.assertEqual(stopped, [True])


if __name__ == "__main__":
    unittest.main()
