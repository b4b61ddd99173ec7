"""Tests of how each client's output is parsed, with and without errors."""

import unittest
from pathlib import Path

from peers.__main__ import peers
from peers.clients import CLIENTS, OPTIONAL, Task
from shared.errors import BadRun


def claimed(client: str, output: str, protocol: str = "http") -> int:
    """The count of requests in a client's output."""
    (found,) = (each for each in CLIENTS if (each.name, each.protocol) == (client, protocol))
    return found.claimed(output)


class Outputs(unittest.TestCase):
    """Relevant lines, copied from real runs."""

    def test_the_count_of_requests_is_found_in_each_output(self):
        outputs = {
            "floor": '{"requests": 1234, "seconds": 4.000012}',
            "showdown": '{"valid":true,"requests":1234,"errors":{}}',
            "wrk": "  1234 requests in 4.01s, 38.60MB read\nRequests/sec:  31844.88",
            "ab": "Complete requests:      1234\nFailed requests:        0\n",
            "h2load": "requests: 1234 total, 1298 started, 1234 done, 1234 succeeded, 0 failed, 0 errored, 0 timeout\n"
            "status codes: 1234 2xx, 0 3xx, 0 4xx, 0 5xx",
            "hey": "Status code distribution:\n  [200]\t1234 responses\n",
        }
        for client, output in outputs.items():
            with self.subTest(client):
                self.assertEqual(claimed(client, output), 1234)
        self.assertEqual(claimed("memcaslap", "cmd_get: 1234\ncmd_set: 65536\nget_misses: 0\n", "memcached"), 1234)

    def test_a_run_with_errors_does_not_count(self):
        outputs = {
            "showdown": '{"requests":1234,"errors":{"reset":2}}',
            "wrk": "  1234 requests in 4.01s\n  Non-2xx or 3xx responses: 7",
            "ab": "Complete requests:      1234\nFailed requests:        3\n",
            "h2load": "requests: 9 total, 9 started, 9 done, 5 succeeded, 4 failed, 0 errored, 0 timeout\n",
            "hey": "Status code distribution:\n  [200]\t1234 responses\n  [404]\t2 responses\n",
        }
        for client, output in outputs.items():
            with self.subTest(client), self.assertRaises(BadRun):
                claimed(client, output)
        with self.assertRaises(BadRun):
            claimed("memcaslap", "cmd_get: 1234\nget_misses: 5\n", "memcached")

    def test_operations_that_the_engine_did_not_send_are_no_errors(self):
        self.assertEqual(claimed("showdown", '{"requests":10,"errors":{"unsent":3}}'), 10)

    def test_output_without_a_count_does_not_count(self):
        for client in ("floor", "showdown", "wrk", "ab", "h2load", "hey"):
            with self.subTest(client), self.assertRaises(BadRun):
                claimed(client, "Could not allocate memory")


class OptionalPeers(unittest.TestCase):
    """Peers without a package, in the form of their documents."""

    GCANNON = '''{"requests": 1240, "responses": 1234, "status": {"2xx": 1234, "3xx": 0, "other": 0},
                 "errors": {"connect": 0, "read": 0, "timeout": 0}, "reconnects": 0}'''
    ZRK = '''{"zrk_version": "3.0.0", "requests": 1234, "status_codes": {"1xx": 0, "2xx": 1234, "4xx": 0},
             "errors": {"connect": 0, "timeout": 0, "non_2xx_3xx": 0}}'''

    def test_the_count_of_requests_is_found(self):
        self.assertEqual(OPTIONAL["gcannon"].claimed(self.GCANNON), 1234)
        self.assertEqual(OPTIONAL["zrk"].claimed(self.ZRK), 1234)

    def test_a_run_with_errors_does_not_count(self):
        for name, output in [
            ("gcannon", self.GCANNON.replace('"read": 0', '"read": 3')),
            ("gcannon", self.GCANNON.replace('"3xx": 0', '"3xx": 3')),
            ("zrk", self.ZRK.replace('"4xx": 0', '"4xx": 3')),
            ("zrk", "error: connection refused"),
        ]:
            with self.subTest(output), self.assertRaises(BadRun):
                OPTIONAL[name].claimed(output)

    def test_they_run_the_named_binaries_on_the_same_work(self):
        task = Task("127.0.0.1:80", 64, 4, Path("/tmp"), {"gcannon": "/opt/gcannon", "zrk": "/opt/zrk"})
        for name, client in OPTIONAL.items():
            argv = client.argv(task)
            self.assertEqual(argv[0], f"/opt/{name}")
            self.assertIn("http://127.0.0.1:80/1k", argv)
            self.assertEqual((argv[argv.index("-c") + 1], argv[argv.index("-t") + 1]), ("64", "1"))
        self.assertIn("20000", OPTIONAL["zrk"].paced(task, 20_000))

    def test_a_peer_is_named_with_its_binary(self):
        self.assertEqual(peers(["zrk=/bin/true"])["zrk"].name, Path("/bin/true").resolve().name)
        for wrong in ["zrk", "zrk=", "zrk=/nowhere", "zrk=/tmp", "bombardier=/bin/true"]:
            with self.subTest(wrong), self.assertRaises(ValueError):
                peers([wrong])


class Spinning(unittest.TestCase):
    """The engine says which part of its CPU time is polls that find no work."""

    def test_its_share_is_of_all_cpu_time_of_the_client(self):
        output = '{"requests":9,"errors":{},"client":{"user_cpu_s":1.0,"system_cpu_s":3.0,"spin_cpu_s":1.0}}'
        engines = [client for client in CLIENTS if client.name == "showdown"]
        self.assertEqual([client.spinning(output) for client in engines], [0.25] * 3)


if __name__ == "__main__":
    unittest.main()
