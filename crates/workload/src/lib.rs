//! A workload.toml made into a running server, loaded data and a driver for the engine.
