"""Tests of what reads other programs' output, and of the arithmetic: `python3 -m unittest` from bench/."""
