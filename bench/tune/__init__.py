"""Searches for tunings: on a server with planted slownesses and placebos, on real servers, and searches that are killed."""
