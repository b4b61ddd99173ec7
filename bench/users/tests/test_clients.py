"""Tests of the scenario in each client's form, and of how each client's output is parsed, with and without errors."""

import ast
import tempfile
import tomllib
import unittest
from pathlib import Path

from shared.errors import BadRun
from users import clients, scenario

LOCUST_OUTPUT = '[2026-11-29] Starting\n[\n {"name": "/home", "num_requests": 30, "num_failures": %d},\n {"name": "/static", "num_requests": 420, "num_failures": 0}\n]\n'
K6_OUTPUT = "    http_req_failed................: %s 0 out of 450\n    http_reqs......................: 450    90.1/s\n"


class Scenarios(unittest.TestCase):
    def test_each_row_of_the_walk_adds_up_to_all(self):
        for page, row in scenario.NEXT.items():
            self.assertEqual(sum(row.values()), 100, page)
            self.assertLessEqual(set(row), set(scenario.PAGES))

    def test_the_engine_s_scenario_has_the_same_walk_and_requests(self):
        with tempfile.TemporaryDirectory() as directory:
            load = tomllib.loads(scenario.engine(Path(directory) / "s.toml", 7).read_text())["load"]
        self.assertEqual((load["users"]["count"], load["users"]["next"]), (7, scenario.NEXT))
        for operation in load["op"]:
            self.assertEqual(sum(step.get("repeat", 1) for step in operation["step"]), scenario.REQUESTS)

    def test_locust_s_scenario_is_python(self):
        names = [node.name for node in ast.parse(scenario.LOCUST).body if isinstance(node, ast.ClassDef)]
        self.assertEqual(names, ["Shopper"])


class Outputs(unittest.TestCase):
    """Relevant lines, copied from real runs."""

    def test_the_count_of_requests_is_found(self):
        engine = '{"requests": 30, "errors": {}, "rules_broken": [], "client": {"spin_cpu_s": 0.5, "user_cpu_s": 0.8, "system_cpu_s": 0.2}}'
        self.assertEqual(clients._engine_figures(engine), clients.Figures(450, 0.5))
        self.assertEqual(clients._locust_figures(LOCUST_OUTPUT % 0).requests, 450)
        self.assertEqual(clients._k6_figures(K6_OUTPUT % "0.00%").requests, 450)

    def test_a_run_with_errors_does_not_count(self):
        for figures, output in [
            (clients._engine_figures, '{"requests": 30, "errors": {"reset": 2}, "rules_broken": [], "client": {"spin_cpu_s": 0, "user_cpu_s": 1, "system_cpu_s": 1}}'),
            (clients._locust_figures, LOCUST_OUTPUT % 3),
            (clients._k6_figures, K6_OUTPUT % "1.20%"),
        ]:
            with self.subTest(figures.__name__), self.assertRaises(BadRun):
                figures(output)
