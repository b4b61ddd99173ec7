//! The load engine: arrivals, workers, connections, recording.
//!
//! A [`LoadSpec`](spec::LoadSpec) says where the load goes, which operations it is made of and when they begin;
//! [`engine::run`] carries it out and gives an [`Outcome`](engine::Outcome), which [`summary::Summary`] reads as
//! numbers, [`validity`] holds to the rules, and [`hlog`] writes as a log that other tools read.
//! [`capacity::find`] runs one after the other to find the highest rate that meets an objective.
//!
//! # Goals
//!
//! - One engine for all protocols. What a protocol does is a [`driver`]: a state machine that is given bytes and
//!   answers with bytes, for operations of any number of steps. Times are taken by the engine alone, so all
//!   protocols are timed alike.
//! - Response time counts from the *intended* start in an open loop, whatever the server or the client did
//!   meanwhile; service time, from the actual send, is recorded beside it.
//! - As cheap as the kernel allows: one thread with one epoll instance for each share of the connections, no
//!   allocation and at most two system calls for an operation
//!   (`docs/decisions/0001-epoll-and-state-machines.md`).
//! - Honest about itself: its CPU time, how late each send was and how long each reply lay unread are recorded
//!   as carefully as the server's times, and decide whether a run is valid.
//! - Nothing is lost in adding up: workers, seconds and processes are merged as whole histograms.
//! - The same seed gives the same operations.
//!
//! # Non-goals
//!
//! Starting servers and loading data is `workload`'s, comparing them `bakeoff`'s; how things look on a terminal
//! is `showdown`'s. There is no pipelining: one operation at a time is in flight on a connection, as in a client
//! that waits for its answer. Nothing here retries an operation: one that failed is an error, and counted.
//!
//! # Example
//!
//! A closed loop of two connections against a server that knows one reply:
//!
//! ```
//! use std::io::{Read, Write};
//! use std::net::TcpListener;
//!
//! use load::drivers::ProtocolSpec;
//! use load::drivers::http::{HttpOperation, HttpSpec};
//! use load::spec::LoadSpec;
//! use load::summary::Summary;
//!
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let address = listener.local_addr()?;
//! std::thread::spawn(move || {
//!     for mut client in listener.incoming().flatten() {
//!         std::thread::spawn(move || {
//!             while client.read(&mut [0; 1024]).is_ok_and(|count| count > 0) {
//!                 let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
//!             }
//!         });
//!     }
//! });
//!
//! let operations = vec![HttpOperation::get("/")];
//! let protocol = ProtocolSpec::Http(HttpSpec { authority: address.to_string(), operations });
//! let spec = LoadSpec::closed(protocol, address, 2).with_duration(None).with_requests(100);
//! let outcome = load::engine::run(&spec, &Default::default(), &mut |_event| {})?;
//! let summary = Summary::of(&outcome);
//! assert_eq!((summary.requests, summary.failed), (100, 0));
//! assert!(summary.response_time_us.p50 <= summary.response_time_us.p99);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod capacity;
pub mod client_share;
pub mod clock;
mod collector;
mod division;
pub mod driver;
pub mod drivers;
pub mod engine;
#[cfg(test)]
mod example;
pub mod hlog;
pub mod inputs;
pub mod output;
pub mod processes;
pub mod record;
pub mod runner;
pub mod sources;
pub mod spans;
pub mod spec;
pub mod summary;
pub mod tls;
pub mod validity;
mod worker;
mod worker_threads;

pub use collector::TimedInterval;
