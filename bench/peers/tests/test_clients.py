"""Each client's output, as it is when all went well and when it did not."""

import unittest

from peers.clients import CLIENTS, BadRun


def claimed(client: str, output: str, protocol: str = "http") -> int:
    """What the named client claims in that output."""
    (found,) = (each for each in CLIENTS if (each.name, each.protocol) == (client, protocol))
    return found.claimed(output)


class WhatClientsSay(unittest.TestCase):
    """The lines that matter, copied from real runs."""

    def test_requests_are_found_in_each_clients_own_words(self):
        said = {
            "floor": '{"requests": 1234, "seconds": 4.000012}',
            "showdown": '{"valid":true,"requests":1234,"errors":{}}',
            "wrk": "  1234 requests in 4.01s, 38.60MB read\nRequests/sec:  31844.88",
            "ab": "Complete requests:      1234\nFailed requests:        0\n",
            "h2load": "requests: 1234 total, 1298 started, 1234 done, 1234 succeeded, 0 failed, 0 errored, 0 timeout\n"
            "status codes: 1234 2xx, 0 3xx, 0 4xx, 0 5xx",
            "hey": "Status code distribution:\n  [200]\t1234 responses\n",
        }
        for client, output in said.items():
            with self.subTest(client):
                self.assertEqual(claimed(client, output), 1234)
        self.assertEqual(claimed("memcaslap", "cmd_get: 1234\ncmd_set: 65536\nget_misses: 0\n", "memcached"), 1234)

    def test_errors_make_a_run_not_count(self):
        said = {
            "showdown": '{"requests":1234,"errors":{"reset":2}}',
            "wrk": "  1234 requests in 4.01s\n  Non-2xx or 3xx responses: 7",
            "ab": "Complete requests:      1234\nFailed requests:        3\n",
            "h2load": "requests: 9 total, 9 started, 9 done, 5 succeeded, 4 failed, 0 errored, 0 timeout\n",
            "hey": "Status code distribution:\n  [200]\t1234 responses\n  [404]\t2 responses\n",
        }
        for client, output in said.items():
            with self.subTest(client), self.assertRaises(BadRun):
                claimed(client, output)
        with self.assertRaises(BadRun):
            claimed("memcaslap", "cmd_get: 1234\nget_misses: 5\n", "memcached")

    def test_the_engine_may_leave_operations_unsent_that_found_no_free_connection(self):
        self.assertEqual(claimed("showdown", '{"requests":10,"errors":{"unsent":3}}'), 10)

    def test_output_without_a_count_does_not_count(self):
        for client in ("floor", "showdown", "wrk", "ab", "h2load", "hey"):
            with self.subTest(client), self.assertRaises(BadRun):
                claimed(client, "Could not allocate memory")


if __name__ == "__main__":
    unittest.main()
