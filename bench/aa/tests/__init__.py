"""Tests of the A/A series."""
