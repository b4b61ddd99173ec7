"""Tests of what reads the clients' times, and of the arithmetic: `python3 -m unittest` from bench/."""
