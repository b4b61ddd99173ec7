"""Every workload run for real, line by line, with what it answered."""
