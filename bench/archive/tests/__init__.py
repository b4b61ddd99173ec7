"""Tests of the archive's bench."""
