"""Engine and peers on databases: `python3 -m peers_db --help`, or `make bench-peers-db`.

`servers` creates MariaDB and PostgreSQL, `clients` has the command line of each client for the same work,
`shared.whole_run` measures one run, `report` writes docs/results/peers-db.md.
"""
