"""Tests of the bench of planted causes."""
