//! Verbs that use the load engine without trials: a load by hand, and checks of the engine.

pub mod known_server;
pub mod load;
pub mod runner;
pub mod selftest;
pub mod selftest_clients;
