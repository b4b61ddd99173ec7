//! A machine behind a connection, as [`Machine`](crate::Machine). Its agent has a [`LocalMachine`](crate::LocalMachine), and this asks it.

mod agent_client;
mod limits;
mod machine;
mod recorder;
mod server;
mod start;

pub use machine::RemoteMachine;
