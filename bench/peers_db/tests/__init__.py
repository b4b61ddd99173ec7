"""Tests of the runner for databases."""
