"""Tests of the planted causes: the workloads that have them, the library, what an answer says of them, and the page."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import unittest
from pathlib import Path

from explain import case, difference, page
from explain.causes import CAUSES
from explain.group import Room, files
from explain.name_server import slow_name_server
from shared.errors import BadRun
from shared.whole_run import REPOSITORY

RULES = REPOSITORY / "crates/explain/rules"


class Looking(unittest.TestCase):
    def test_waking_and_the_rest_are_shares_of_the_cpu_time(self):
        found = case.costs({"profile": {"cpu_us": 20.0, "waking_us": 5.0, "rest_us": -1.0}})
        self.assertEqual((found["waking"], found["rest"], found["watched"]), ("0.2500", "-0.0500", ""))

    def test_a_second_measurement_ends_the_bench(self):
        case.check_alone("note: memory is small\n")
        with self.assertRaises(BadRun):
            case.check_alone("note: another showdown is measuring on this machine (process 7); both results may be wrong\n")


class Planting(unittest.TestCase):
    def test_every_cause_is_in_the_definition_of_its_server(self):
        for name, cause in CAUSES.items():
            text = (REPOSITORY / "workloads" / cause.workload / "workload.toml").read_text()
            definition = tomllib.loads(case.planted(text, cause, Path("/plant.so")))
            server = definition.get("server", {}).get(cause.server.split(":")[0], {})
            self.assertEqual(server.get("environment", {}).get("PLANT", ""), cause.plant, name)
            if "--on-op" in cause.options:
                operation = cause.options[cause.options.index("--on-op") + 1]
                named = [op.get("name") or op.get("transaction") or op.get("command") for op in definition["load"]["op"]]
                self.assertIn(operation, named, name)

    def test_every_resource_has_a_rule(self):
        known = {tomllib.loads(file.read_text())["resource"] for file in RULES.glob("*.toml")}
        for name, cause in CAUSES.items():
            self.assertLessEqual(set(cause.resources), known, name)

    def test_a_planted_wait_takes_its_time(self):
        with tempfile.TemporaryDirectory() as directory:
            library = case.build_plant(Path(directory))
            program = (
                "import os, socket, time; a, b = socket.socketpair(); a.send(b'x'); t = time.monotonic(); b.recv(1);"
                "print(time.monotonic() - t)"
            )
            for plant in ("mutex=20000", "malloc=20000", "wait=20000"):
                environment = {"LD_PRELOAD": str(library), "PLANT": plant}
                ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
                self.assertGreaterEqual(float(ran.stdout), 0.02, plant)


    def test_a_name_server_answers_late_that_there_is_no_such_name(self):
        with slow_name_server(0.01) as port, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(5.0)
            question = b"\x07planted\x07invalid\0\0\x01\0\x01"
            began = time.monotonic()
            client.sendto(b"\x12\x34\x01\0\0\x01" + bytes(6) + question, ("127.0.0.1", port))
            answer = client.recv(512)
            self.assertGreaterEqual(time.monotonic() - began, 0.01)
        self.assertEqual((answer[:2], answer[3] & 0xF, answer[12:]), (b"\x12\x34", 3, question))

    def test_limits_have_the_names_of_both_versions(self):
        room = Room(memory_mb=100, read_mb_per_s=10)
        first = [("memory", "memory.limit_in_bytes", "104857600"), ("blkio", "blkio.throttle.read_bps_device", "254:0 10485760")]
        second = [("memory", "memory.max", "104857600"), ("io", "io.max", "254:0 rbps=10485760")]
        self.assertEqual((files(room, "254:0", False), files(room, "254:0", True)), (first, second))
        self.assertEqual(files(Room(), "254:0", True), [])


class Pair(unittest.TestCase):
    def answer(self, *frames: tuple[str, float, bool]) -> str:
        listed = [{"frame": name, "a_us": 0.0, "b_us": us, "is_significant": significant} for name, us, significant in frames]
        found = {"sentence": "said", "a_cpu_us": 10.0, "frames": listed}
        return json.dumps({"difference": found, "servers": [{"held": {"throughput_per_s": 5.0}}]})

    def test_the_second_server_is_the_first_with_more_work(self):
        text = (REPOSITORY / "workloads/cache/workload.toml").read_text()
        definition = tomllib.loads(difference.with_second(text, Path("/plant.so"), 70))
        first, second = (definition["server"][name] for name in (difference.SERVER, difference.PLANTED))
        self.assertEqual((first.pop("environment")["PLANT"], second.pop("environment")["PLANT"]), ("work=0", "work=70"))
        self.assertEqual(first, second)
        self.assertEqual(definition["load"], tomllib.loads(text)["load"])

    def test_the_planted_function_must_lead_alone(self):
        def named(share: float, *frames: tuple[str, float, bool]) -> object:
            return difference.outcome(share, self.answer(*frames), "")["named"]

        planted, other = ("planted_work", 0.3, True), ("memcpy", 0.2, True)
        self.assertEqual(named(0.03, planted, ("memcpy", 0.05, True)), "yes")
        self.assertEqual([named(0.03, planted, other), named(0.03, ("planted_work", 0.3, False))], ["", ""])
        self.assertEqual([named(0.0, ("memcpy", 0.2, False)), named(0.0, other)], ["yes", ""])
        self.assertEqual(difference.outcome(0.0, "", "it failed")["message"], "it failed")

    def test_a_turn_is_known_by_a_profile(self):
        share = difference.share_of_a_turn(json.loads(self.answer(("planted_work", 2.0, True)))["difference"])
        self.assertAlmostEqual(share * difference.CALIBRATION, 0.2)


class Outcome(unittest.TestCase):
    def answer(self, *suspects: tuple[str, str]) -> str:
        listed = [{"resource": resource, "word": word} for resource, word in suspects]
        return json.dumps({"servers": [{"sentence": "said", "held": {"throughput_per_s": 5.0}, "suspects": listed}]})

    def test_the_first_suspect_counts(self):
        found = case.outcome(CAUSES["mutex"], self.answer(("locks", "suspected"), ("server_cpu", "suspected")), "")
        self.assertEqual((found["named"], found["decided"]), ("yes", ""))
        found = case.outcome(CAUSES["mutex"], self.answer(("server_cpu", "limits"), ("locks", "suspected")), "")
        self.assertEqual((found["named"], found["decided"], found["resource"]), ("", "yes", "server_cpu"))

    def test_a_cleared_suspect_and_no_answer_name_nothing(self):
        self.assertEqual(case.outcome(CAUSES["mutex"], self.answer(("locks", "cleared")), "")["named"], "")
        self.assertEqual(case.outcome(CAUSES["mutex"], "", "one\ntwo\n")["message"], "two")


class Page(unittest.TestCase):
    def test_cases_are_counted_and_wrong_ones_told(self):
        row = dict.fromkeys(case.COLUMNS, "") | {"cause": "mutex", "round": "1", "resource": "locks", "named": "yes"}
        wrong = row | {"round": "2", "resource": "server_cpu", "named": "", "sentence": "limited by server CPUs"}
        text = page.render([row, wrong], {"date": "2026-11-23"})
        self.assertIn("named first in 1 of them (50%; bar: 95%, **not met**)", text)
        self.assertIn("| `mutex` | a lock around each request, held for 200 µs | 2 | 1 | 0 | server_cpu |", text)
        self.assertIn("limited by server CPUs", text)


if __name__ == "__main__":
    unittest.main()
