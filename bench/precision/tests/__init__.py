"""Tests of the series of half-widths."""
