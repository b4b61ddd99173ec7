"""Causes that are planted in real servers, and whether `showdown explain` names them.

Run it with `make bench-explain`; `python3 -m explain --help` lists the options.
"""
