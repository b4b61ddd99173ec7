"""Block I/O runner and fio: `python3 -m peers_io --help`, or `make bench-peers-io`.

`cases` says what is transferred and how each is called for it, `runner` talks to ours (docs/BYOD.md), `fio` calls the
peer, `report` writes docs/results/peers-io.md.
"""
