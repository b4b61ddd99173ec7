"""Tests of the clients' output, the schedule and the figures: `python3 -m unittest` in bench/."""
