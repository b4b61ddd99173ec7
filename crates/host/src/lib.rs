//! One machine: facts, telemetry, processes, affinity, knobs.
