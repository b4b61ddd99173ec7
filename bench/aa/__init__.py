"""False and true verdicts: a server compared with itself, and with a slowed copy of itself, again and again."""
