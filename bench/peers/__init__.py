"""Engine and peers against the same servers, interleaved: the cost of a request for each client.

`python3 -m peers` (with bench/ on PYTHONPATH, as `make bench-peers` does it) measures and writes docs/results/peers.md.
bench/README.md describes the method and what can mislead.

servers     nginx and memcached in a temporary directory, with their own count of requests
clients     the command line of each client, and how its output is checked
trials      one checked measurement of one client
schedule    which trials run, in which order, and their repetition when one does not count
tables      the columns of the raw figures
figures     medians, ratios and bars
report      rows to Markdown
"""
