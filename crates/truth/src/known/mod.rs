//! Servers of known behaviour: the behaviour, the process, and its account.

pub mod account;
pub mod behaviour;
pub mod child;
mod clock;
mod option_values;
mod reply;
mod request;
pub mod schedule;
pub mod server;
pub mod service;
mod socket;
mod tasks;
