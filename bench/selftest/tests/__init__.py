"""Tests of the series of selftests."""
