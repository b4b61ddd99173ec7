//! Servers whose behaviour is known: what they do, the process that does it, and what they tell of it.

pub mod account;
pub mod behaviour;
pub mod child;
mod clock;
mod reply;
mod request;
pub mod server;
pub mod service;
mod socket;
mod tasks;
mod words;
