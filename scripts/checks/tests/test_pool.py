"""Programs that end, fail, hang, or are stopped."""

from __future__ import annotations

import threading
import unittest
from pathlib import Path

from checks.pool import Ended, Job, Pool

LONG = 60.0


def shell(script: str) -> Job:
    return Job(script, ["sh", "-c", script], Path("/"), {"COLOUR": "blue"})


class PoolTest(unittest.TestCase):
    def test_what_a_program_prints_is_kept_with_how_it_ended(self) -> None:
        ended = Pool().run(shell("pwd; echo $COLOUR >&2; exit 3"), LONG)
        self.assertEqual((ended.succeeded, ended.printed), (False, "/\nblue\n"))
        self.assertTrue(Pool().run(shell("true"), LONG).succeeded)

    def test_a_program_that_hangs_is_killed_with_its_children(self) -> None:
        # The pipe of `cat` ends when all of them have.
        ended = Pool().run(shell("sleep 1000 | cat; echo not reached"), 0.1)
        self.assertFalse(ended.succeeded)
        self.assertIn("killed: it did not end within", ended.printed)
        self.assertNotIn("not reached", ended.printed)

    def test_all_are_run_also_after_a_failure(self) -> None:
        ended: list[Ended] = []
        Pool().run_all([shell("false"), shell("true"), shell("exit 2")], 2, LONG, ended.append)
        self.assertEqual(sorted(one.job.name for one in ended if not one.succeeded), ["exit 2", "false"])
        self.assertEqual(len(ended), 3)

    def test_a_stopped_pool_starts_nothing(self) -> None:
        pool, ended = Pool(), []
        threading.Timer(0.1, pool.stop).start()
        pool.run_all([shell("sleep 1000"), shell("echo not reached")], 1, LONG, ended.append)
        self.assertFalse(any(one.succeeded for one in ended))
        self.assertEqual(ended[1].printed, "not run\n")


if __name__ == "__main__":
    unittest.main()
