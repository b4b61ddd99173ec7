"""Tests of the bench of machines."""
