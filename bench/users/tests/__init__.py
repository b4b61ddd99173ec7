"""Tests of the scenario and of how each client's output is parsed: `python3 -m unittest` in bench/."""
