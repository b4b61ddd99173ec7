"""Very many downloads in progress at once: `make bench-concurrency`."""
