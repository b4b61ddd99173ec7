"""Prices a comparison of two servers from end to end, with a stand-in for a rack PDU, and writes docs/results/cost.md."""
