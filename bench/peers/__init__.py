"""Engine and peers against the same servers, interleaved: what a request costs each of them.

`python3 -m peers` (with bench/ on PYTHONPATH; `make bench-peers` does it) runs everything and writes
docs/results/peers.md. bench/README.md says how it is measured and what can mislead.

processes   start, pin and stop processes; what /proc says of them
servers     nginx and memcached in a directory of ours, and their own count of requests
clients     how each client is called and how its output is judged
meter       cycles, CPU time and system calls of a running client
trials      one measurement of one client, checked
schedule    which trials, in which order, and again when one failed
store       rows on disk as they come, so that a stopped run can go on
machine     what it was measured on and with
report      rows to Markdown
"""
