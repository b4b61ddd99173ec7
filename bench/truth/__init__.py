"""Engine and peers against servers of known behaviour: how accurate are their reports?

`python3 -m truth` (with bench/ on PYTHONPATH, as `make bench-truth` does it) measures and writes docs/results/truth.md. A
stopped bench continues with the same command. docs/METHODOLOGY.md describes how the truth is known.

clients     the command lines of the engine and the peers, and their response times
cases       every row of the tables: server, load and truth
report      rows to Markdown
validity    the parts of the page on saturated clients and on steady state
"""
