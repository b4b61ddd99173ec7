"""False and true verdicts: comparisons of a server with itself, and with a slowed copy of itself."""
