//! Short comparisons of everything that can be compared: a file for each kind of server or program.

mod block_io;
mod build;
mod byod;
mod companions;
mod download;
mod instances;
mod kv;
mod mail;
mod olio;
mod servers;
mod tls;
