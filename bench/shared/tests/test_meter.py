"""Tests of how the output of perf and strace is parsed, and of the estimate of cycles."""

import os
import unittest
from pathlib import Path

from shared import meter


class Outputs(unittest.TestCase):
    """perf stat, perf script and strace."""

    def test_counts_are_parsed_without_unsupported_events(self):
        output = "<not supported>,,cycles:u,0,100.00,,\n255124,,raw_syscalls:sys_enter,464774229,100.00,,\n"
        self.assertEqual(meter.parse_stat(output), {"raw_syscalls:sys_enter": 255124})

    def test_the_address_of_a_sample_gives_its_mode(self):
        output = "  812  1043.123456789:  ffffffff81234567 \n    0  1043.123523456:      55d0c0ffee00 \n"
        kernel, user = meter.parse_samples(output)
        self.assertEqual((kernel.pid, user.pid), (812, 0))
        self.assertTrue(user.address < meter.KERNEL_HALF <= kernel.address)
        self.assertAlmostEqual(user.at_s, 1043.123523456)

    def test_the_total_of_strace_is_parsed(self):
        output = "   calls syscall\n---------\n     90 sendto\n     91 recvfrom\n---------\n     181 total\n"
        self.assertEqual(meter.parse_strace(output), 181)


class FakeCode:
    """The code of process 7, with a system call before address 16."""

    def pids(self):
        """One process."""
        return {7}

    def is_behind_syscall(self, pid, address):
        """One address."""
        return (pid, address) == (7, 16)


class Cycles(unittest.TestCase):
    """The estimate of cycles from samples."""

    WINDOW = meter.Window(10.0, 12.0, 1000, client_cpu_s=0.01, server_cpu_s=0.1, others_cpu_s=0.0, steal_s=0.0)
    USER, BEHIND_SYSCALL, KERNEL = 8, 16, meter.KERNEL_HALF

    def cycles(self, samples, clocks_hz):
        """The cycles of process 7."""
        samples = [meter.Sample(*sample) for sample in samples]
        return meter.cycles_by_sampling(self.WINDOW, samples, FakeCode(), clocks_hz)

    def test_cycles_are_the_share_of_samples_times_cpu_time_times_the_clock(self):
        found = self.cycles([(7, 11.0, self.USER)] + 9 * [(7, 11.0, self.KERNEL)], [2e9, 4e9])
        # 10 ms at 3 GHz for 1,000 requests: 30,000 cycles each, a tenth of them in user space.
        self.assertEqual((found["all_cycles"], found["user_cycles"]), (30_000, 3_000))

    def test_a_sample_right_behind_a_system_call_counts_as_the_kernels(self):
        found = self.cycles([(7, 11.0, self.USER), (7, 11.0, self.BEHIND_SYSCALL)], [3e9])
        self.assertEqual(found["user_cycles"], 15_000)

    def test_samples_of_other_processes_and_other_times_are_ignored(self):
        others = [(8, 11.0, self.KERNEL), (7, 9.0, self.KERNEL), (7, 12.5, self.KERNEL)]
        found = self.cycles([(7, 11.0, self.USER), *others], [3e9])
        self.assertEqual((found["samples"], found["user_cycles"]), (1, 30_000))

    def test_a_client_without_samples_is_an_error(self):
        with self.assertRaisesRegex(meter.MeterError, "another CPU"):
            self.cycles([], [3e9])


class CodeOfAProcess(unittest.TestCase):
    """Mappings and instructions."""

    def test_only_executable_mappings_of_files_are_kept(self):
        text = (
            "55d0c0000000-55d0c0001000 r--p 00000000 fe:00 12    /usr/bin/wrk\n"
            "55d0c0001000-55d0c0009000 r-xp 00001000 fe:00 12    /usr/bin/wrk\n"
            "7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0     [vdso]\n"
            "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
            "7f0000002000-7f0000003000 r-xp 00000000 fe:00 13    /tmp/gone.so (deleted)\n"
        )
        self.assertEqual(meter.parse_maps(text), [(0x55D0C0001000, 0x55D0C0009000, 0x1000, "/usr/bin/wrk")])

    def test_instructions_of_this_process_can_be_read(self):
        code = meter.Code([os.getpid()])
        found = []
        for begin, end, offset, path in meter.parse_maps(Path("/proc/self/maps").read_text()):
            with open(path, "rb") as file:
                file.seek(offset)
                place = file.read(end - begin).find(meter.SYSCALL_INSTRUCTION)
            if place > 0:
                found.append(begin + place + len(meter.SYSCALL_INSTRUCTION))
        self.assertTrue(found, "the C library contains system calls")
        self.assertTrue(all(code.is_behind_syscall(os.getpid(), address) for address in found))
        self.assertFalse(code.is_behind_syscall(os.getpid(), 0))


if __name__ == "__main__":
    unittest.main()
