"""Tests of the search that is held."""
