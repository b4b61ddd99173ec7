"""What perf and strace print, and what becomes of it."""

import unittest

from peers import meter


class WhatToolsPrint(unittest.TestCase):
    """perf stat, perf script and strace."""

    def test_counts_are_read_and_what_is_not_supported_is_left_out(self):
        output = "<not supported>,,cycles:u,0,100.00,,\n255124,,raw_syscalls:sys_enter,464774229,100.00,,\n"
        self.assertEqual(meter.parse_stat(output), {"raw_syscalls:sys_enter": 255124})

    def test_samples_are_told_apart_by_address(self):
        output = "  812  1043.123456789:  ffffffff81234567 \n    0  1043.123523456:      55d0c0ffee00 \n"
        kernel, user = meter.parse_samples(output)
        self.assertEqual((kernel.pid, kernel.in_user_space, user.in_user_space), (812, False, True))
        self.assertAlmostEqual(user.at_s, 1043.123523456)

    def test_strace_totals_all_calls(self):
        output = "   calls syscall\n---------\n     90 sendto\n     91 recvfrom\n---------\n     181 total\n"
        self.assertEqual(meter.parse_strace(output), 181)


class Cycles(unittest.TestCase):
    """The estimate from samples."""

    WINDOW = meter.Window(10.0, 12.0, 1000, client_cpu_s=0.01, server_cpu_s=0.1, others_cpu_s=0.0, steal_s=0.0)

    def test_cycles_are_the_share_of_samples_times_cpu_time_times_the_clock(self):
        samples = [meter.Sample(7, 11.0, in_user_space=place == 0) for place in range(10)]
        found = meter.cycles_by_sampling(self.WINDOW, samples, {7}, [2e9, 4e9])
        # 10 ms at 3 GHz for 1,000 requests: 30,000 cycles each, a tenth of them in user space.
        self.assertEqual((found["all_cycles"], found["user_cycles"]), (30_000, 3_000))

    def test_samples_of_others_and_of_other_times_do_not_matter(self):
        samples = [
            meter.Sample(7, 11.0, in_user_space=True),
            meter.Sample(8, 11.0, in_user_space=False),
            meter.Sample(7, 9.0, in_user_space=False),
            meter.Sample(7, 12.5, in_user_space=False),
        ]
        found = meter.cycles_by_sampling(self.WINDOW, samples, {7}, [3e9])
        self.assertEqual((found["samples"], found["user_cycles"]), (1, 30_000))

    def test_a_client_that_was_never_sampled_ran_elsewhere(self):
        with self.assertRaisesRegex(meter.MeterError, "another CPU"):
            meter.cycles_by_sampling(self.WINDOW, [], {7}, [3e9])


if __name__ == "__main__":
    unittest.main()
