//! Servers of known behaviour, and checks that compare the engine's measurements with them.
//!
//! A benchmark is an instrument, and an instrument is calibrated. A *known server* has service times of a known
//! distribution; it can freeze, slow down, overflow, return errors, drop connections or do extra work, all by options
//! ([`known::behaviour`]). It records its own values from the kernel's receive timestamps ([`known::server`]). It
//! speaks HTTP/1 and memcached's text protocol on one port, so any client can be checked against it:
//!
//! ```text
//! showdown __known-server --port 8080 --service exponential:2ms --log &
//! wrk -d 10 http://127.0.0.1:8080/
//! curl http://127.0.0.1:8080/account      # the server's own values, as JSON
//! ```
//!
//! [`selftest`] runs the [`checks`] against such servers in their own processes and classifies this host and this
//! engine: call [`selftest::run`] with an [`instrument::Instrument`]. A program that uses it must serve under the verb
//! [`known::child::VERB`], and call `host::supervisor_main` first.
//!
//! **Goals.** Known values that are independent of the engine: exact quantiles, the kernel's clock, another process.
//!
//! **Not goals.** A fast or complete server; TLS; HTTP/2; several requests in flight on one connection.

pub mod checks;
pub mod clients_report;
pub mod finding;
pub mod floor;
pub mod instrument;
pub mod known;
pub mod selftest;
