"""Live traffic behind a real HAProxy: what each fault leaves at the candidate, and how soon."""
