//! The network between hosts: which host another one can connect to, and what the network between two of them carries. Which hosts are
//! measured is left to [`survey`](crate::survey) and to runs.

pub mod network_path;
pub mod open_port;
