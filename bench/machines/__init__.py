"""Hosts behind ssh in a lab of network namespaces: exact counts, what ssh adds, equal machines, many agents, and kills.

Run it with `make bench-machines`; `python3 -m machines --help` lists the options.
"""
