"""Tests of the processes that a bench starts."""

from __future__ import annotations

import signal
import sys
import tempfile
import unittest
from pathlib import Path

from shared import processes

# Says when it can be stopped, and leaves a file when it is.
STOPPABLE = """
import os, signal, sys, time
def end(*_):
    open("ended", "w").close()
    sys.exit(3)
signal.signal(signal.SIGTERM, end)
os.kill(os.getppid(), signal.SIGUSR1)
time.sleep(600)
"""


class Ask(unittest.TestCase):
    def test_an_answer_has_what_the_program_printed(self):
        program = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(4)"
        answer = processes.ask([sys.executable, "-c", program], Path("/"))
        self.assertEqual((answer.returncode, answer.stdout, answer.stderr), (4, "out\n", "err\n"))

    def test_a_program_can_stop_what_it_started_when_the_bench_is_stopped(self):
        before = signal.signal(signal.SIGUSR1, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        with tempfile.TemporaryDirectory() as home:
            with self.assertRaises(KeyboardInterrupt):
                processes.ask([sys.executable, "-c", STOPPABLE], Path(home))
            self.assertTrue((Path(home) / "ended").exists())


if __name__ == "__main__":
    unittest.main()
