"""How soon the harness tells, lists and gives away, and what it keeps when its parts are killed, on both databases."""
