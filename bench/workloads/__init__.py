"""Every workload, run for real: a list of commands and their verdicts."""
