//! Short comparisons and sweeps from end to end: of servers, and of programs that generate their own load.

mod anonymous;
mod background;
mod block_io;
mod build;
mod byod;
mod cpu_time;
mod download;
mod explain;
mod failures;
mod foreign_load;
mod full_disk;
mod home;
mod hostile_server;
mod instances;
mod kernel;
mod kernel_restore;
mod kv;
mod mail;
mod resume;
mod secrets;
mod servers;
mod slow_requests;
mod tls;
mod tunings;
mod turns;
mod untrusted;
