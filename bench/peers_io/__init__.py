"""Block I/O runner and fio: `python3 -m peers_io --help`, or `make bench-peers-io`.

`cases` has the kinds of transfers, `runner` drives showdown's runner (docs/BYOD.md), `fio` calls fio, `report` writes
docs/results/peers-io.md.
"""
