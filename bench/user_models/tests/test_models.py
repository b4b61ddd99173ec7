"""Tests of the simulations by what is known of queues, and of the scenarios' form."""

import random
import statistics
import tomllib
import unittest

from user_models import models


def _mean_ms(name: str) -> float:
    simulate = next(model.simulate for model in models.MODELS if model.name.startswith(name))
    return 1e3 * statistics.fmean(simulate(random.Random(1), 2_000.0))


class Simulations(unittest.TestCase):
    def test_an_open_loop_has_the_mean_of_pollaczek_and_khinchine(self):
        mean = (1 - models.LONG_SHARE) * models.SHORT_S + models.LONG_SHARE * models.LONG_S
        square = (1 - models.LONG_SHARE) * models.SHORT_S**2 + models.LONG_SHARE * models.LONG_S**2
        expected = mean + models.LOAD_PER_S * square / (2 * (1 - models.LOAD_PER_S * mean))
        self.assertAlmostEqual(_mean_ms("open") / (1e3 * expected), 1.0, delta=0.1)

    def test_the_models_have_the_published_order(self):
        self.assertGreater(_mean_ms("open"), _mean_ms("partly"))
        self.assertGreater(_mean_ms("partly"), _mean_ms("closed"))

    def test_who_arrives_in_a_freeze_waits_and_has_its_other_operations_later(self):
        frozen = models.MODELS[-1].simulate(random.Random(1), 100.0)
        waited = sum(time > 0 for time in frozen) / len(frozen)
        # A tenth of the arrivals, each with one of two operations.
        self.assertAlmostEqual(waited, 0.05, delta=0.01)

    def test_scenarios_are_toml(self):
        for model in models.MODELS:
            if model.scenario:
                self.assertIn("users", tomllib.loads(model.scenario)["load"])
