"""Tests of what all benches share, and of the committed pages."""
