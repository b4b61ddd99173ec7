"""Tests of the workloads' bench."""
