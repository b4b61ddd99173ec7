"""Tests of the bench of live traffic."""
