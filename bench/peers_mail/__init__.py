"""Engine and smtp-source on mail servers: `python3 -m peers_mail --help`, or `make bench-peers-mail`.

`servers` creates Postfix and smtp-sink, `clients` has the command line of each client for the same work,
`shared.whole_run` measures one run, `report` writes docs/results/peers-mail.md.
"""
