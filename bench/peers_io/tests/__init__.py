"""Tests of the comparison with fio."""
