"""What all benches share. It knows no bench.

processes   start, pin and stop processes, and read /proc
meter       cycles, CPU time and system calls of a running client
showdown    call the binary as a user does
errors      why a run does not count, or a server does not start
whole_run   run one client from its start to its end, check it, and repeat it when it does not count
machine     facts about the machine and the binary
series      rounds that go on for a given time
ledger      rows of a series, in a file that only grows
binomial    exact intervals of a share
store       rows on disk as they are measured, so that a stopped bench continues
results     the raw figures and settings of a finished bench under docs/results
figures     medians, ranges, ratios and bars
markdown    figures, tables and sentences of a page
"""
