//! The load engine: arrivals, workers, connections, recording.
