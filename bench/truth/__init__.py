"""Engine and peers against servers of known behaviour: how true is what they say?

`python3 -m truth` (with bench/ on PYTHONPATH; `make bench-truth` does it) runs everything and writes
docs/results/truth.md. It may be stopped and goes on from there. docs/METHODOLOGY.md says how the truth is known.

known       a known server as a process, and its own account
clients     how the engine and the peers are called, and what they say of response times
cases       every row of the tables: which server, which load, what is known
report      rows to Markdown
"""
