//! The harness: a queue of runs, live pages, the archive and comparisons in a browser. `showdown serve` starts it.
//!
//! | room | content |
//! |---|---|
//! | `serve` | the server: of one person on this machine, or of a team with TLS; its secrets, its controller |
//! | `controller` | the program that takes runs and starts `showdown` for each |
//! | `service` | what the harness does, for pages and API alike |
//! | `http` | routes, guard, events, pages |
//! | `store` | what is kept beside the run directories: in SQLite for one person, in PostgreSQL for a team |
//! | `people` | accounts, roles, passwords |
//! | `clock` | the monotonic clock of a server |
//! | `tls` | certificates and trust |
//! | `comparison` | runs beside one another |
//! | `series` | runs of one question in the order of time |
//! | `search` | searches of the archive, also those with a name |
//!
//! The rules of the queue are the crate `queue`, without a database, a clock or a network.
//!
//! **Goals.** The server starts no measurement and opens no connection to hosts. What it shows of a run is made from its files.
//! Of live traffic it can do one thing: end it, by sockets of this machine.
//!
//! **Not goals.** Measuring: the controller starts the other program, which has all of it.
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests: a panic is a failure with a line"))]

pub mod clock;
pub mod comparison;
pub mod controller;
pub mod folder;
pub mod http;
pub mod people;
pub mod plan_text;
pub mod search;
pub mod secrets;
pub mod series;
pub mod serve;
pub mod service;
pub mod store;
pub mod tls;
