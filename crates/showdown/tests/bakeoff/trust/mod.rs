//! What somebody else can do with a plan, a workload, a server or an exported run, and what they get to know.

mod anonymous;
mod hostile_server;
mod secrets;
mod untrusted;
