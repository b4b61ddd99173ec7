//! The load engine: arrivals, workers, connections, recording.
//!
//! A [`LoadSpec`](spec::LoadSpec) is the input: where the load goes, its operations, and when they begin.
//! [`session::engine::run`] runs it and returns an [`LoadOutcome`](session::engine::LoadOutcome).
//!
//! | what to do with an outcome | module |
//! |---|---|
//! | compute its numbers | [`summary`], over time [`spans`] |
//! | check whether they are valid | [`validity`] |
//! | print them as JSON | [`output`] |
//! | write a log that other tools read | [`hlog`] |
//! | read the walk and the pacing of users | [`users::summary`] |
//! | search the highest rate that meets an objective | [`capacity`] |
//!
//! [`transfers`] is the other kind of load: very many downloads in progress at once, each read at a set pace.
//!
//! # Goals
//!
//! - One engine for all protocols. A protocol is a [`driver`]: a state machine that takes bytes and returns bytes, for
//!   operations of any number of steps. Only the engine reads the clock, so all protocols are timed alike.
//! - No coordinated omission: in an open loop, response time counts from the *intended* start, whatever the server or
//!   the client did meanwhile. Service time, from the actual send, is recorded as well.
//! - Low cost: one thread with one epoll instance for each share of the connections, no allocation and at most two
//!   system calls for an operation (`docs/decisions/0001-epoll-and-state-machines.md`).
//! - The client is measured like the server: its CPU time, how late each send was and how long each reply lay unread
//!   decide whether a run is valid.
//! - No loss in sums: workers, seconds and processes are merged as whole histograms.
//! - The same seed gives the same operations.
//!
//! # Non-goals
//!
//! `workload` starts servers and loads data, `bakeoff` compares them, and `showdown` prints to the terminal. There is no
//! pipelining: a connection has one operation in flight, like a client that waits for its reply. The engine never
//! retries an operation: a failed one counts as an error.
//!
//! # Example
//!
//! A closed loop of two connections to a server that always sends the same reply:
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
//! let protocol = ProtocolSpec::Http(HttpSpec::new(&address.to_string(), operations));
//! let spec = LoadSpec::closed(protocol, address, 2).with_duration(None).with_requests(100);
//! let outcome = load::engine::run(&spec, &Default::default(), &mut |_event| {})?;
//! let summary = Summary::of(&outcome);
//! assert_eq!((summary.requests, summary.failed), (100, 0));
//! assert!(summary.response_time_us.p50 <= summary.response_time_us.p99);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod capacity;
pub mod clock;
pub mod connecting;
pub mod driver;
pub mod drivers;
pub mod event_queue;
pub mod inputs;
mod load_process;
mod outcome;
pub mod output;
pub mod record;
pub mod runner;
pub mod session;
pub mod spec;
pub mod tls;
pub mod transfers;
pub mod users;
mod worker;
mod worker_groups;

pub use connecting::sources;
pub use load_process::{LoadProcessError, load_process_main};
pub use outcome::{IntervalStage, TimedInterval, hlog, spans, summary, user_summary, validity};
pub use session::{engine, outside_load, slices};
pub use worker_groups::{client, processes};
