"""Commands that read the archive, timed as their user waits for them, in an archive of ten thousand runs."""
