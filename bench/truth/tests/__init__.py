"""Tests of the clients' output, the arithmetic and the page: `python3 -m unittest` in bench/."""
