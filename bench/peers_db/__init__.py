"""Engine and peers on databases: `python3 -m peers_db --help`, or `make bench-peers-db`.

`servers` makes MariaDB and PostgreSQL from nothing, `clients` says how each client is called for the same work,
`peers.whole` measures one run, `report` writes docs/results/peers-db.md.
"""
