"""How narrow the intervals of a quick comparison are, beside those of an earlier release in the same hours."""
