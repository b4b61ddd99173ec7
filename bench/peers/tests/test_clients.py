"""Tests of how each client's output is parsed, with and without errors."""

import unittest

from peers.clients import CLIENTS
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


if __name__ == "__main__":
    unittest.main()
