"""Whether different servers compare the same in short slices, in turns, as when each is loaded alone for seconds."""
