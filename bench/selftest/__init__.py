"""Whether `showdown selftest` calls an idle machine fit, how long it takes, and the shortest times it can measure."""
