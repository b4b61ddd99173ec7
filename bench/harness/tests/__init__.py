"""Tests of the bench of the harness."""
