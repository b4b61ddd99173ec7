"""What reads the archive, timed as its user waits for it: whole commands, in an archive of ten thousand runs."""
