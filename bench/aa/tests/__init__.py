"""Tests of the series."""
