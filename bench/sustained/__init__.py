"""Whether a capacity is held: a load at the capacity that was found, without a break, and the right winner where a faster server pauses."""
