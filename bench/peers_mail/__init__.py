"""Engine and smtp-source on mail servers: `python3 -m peers_mail --help`, or `make bench-peers-mail`.

`servers` makes Postfix and smtp-sink from nothing, `clients` says how each client is called for the same work,
`peers.whole` measures one run, `report` writes docs/results/peers-mail.md.
"""
