"""Tests of the series of searches."""
