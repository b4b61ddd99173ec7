//! Servers of known behaviour, and the engine held against them.
//!
//! A benchmark is an instrument, and an instrument is calibrated. A *known server* takes times of a known
//! distribution, freezes, slows down, overflows, errs, drops connections or does extra work, all by its
//! options ([`known::behaviour`]), and records its own truth from the kernel's receive timestamps
//! ([`known::server`]). It speaks HTTP/1 and memcached's text protocol on one port, so any client can be held
//! against it:
//!
//! ```text
//! showdown __known-server --port 8080 --service exponential:2ms --log &
//! wrk -d 10 http://127.0.0.1:8080/
//! curl http://127.0.0.1:8080/account      # what the server says of it, as JSON
//! ```
//!
//! [`selftest`] runs the [`checks`] against such servers in processes of their own and judges this host and this
//! engine: [`selftest::run`] with an [`instrument::Instrument`]. A program that uses it answers to
//! [`known::child::VERB`] by serving, and calls `host::keeper_main` first.
//!
//! **Goals.** Truth that owes nothing to the engine: exact quantiles, the kernel's clock, another process.
//!
//! **Not goals.** A fast or a complete server; TLS; HTTP/2; more than one request in flight on a connection.

pub mod arithmetic;
pub mod checks;
pub mod finding;
pub mod floor;
pub mod instrument;
pub mod known;
pub mod selftest;
