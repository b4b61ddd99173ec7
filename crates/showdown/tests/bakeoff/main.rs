//! Bake-offs from end to end, in small: of servers, and of programs that make their load themselves.

mod background;
mod block_io;
mod build;
mod byod;
mod download;
mod failures;
mod full_disk;
mod home;
mod instances;
mod kernel;
mod kv;
mod mail;
mod others;
mod servers;
mod tls;
