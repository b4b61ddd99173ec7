//! Pure statistics of measurements: steady state, intervals, modes, scalability laws.
