"""What a fault leaves behind: processes, kernel settings, files, scratch directories, and messages.

Run it with `make bench-faults`; `python3 -m faults --help` lists the options.
"""
