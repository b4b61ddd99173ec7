"""Tests of the sustained search."""
