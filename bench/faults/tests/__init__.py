"""Tests of the bench of faults."""
