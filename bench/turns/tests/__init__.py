"""Tests of the comparison of both ways."""
