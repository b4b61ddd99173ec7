//! Protocols as state machines: bytes in, bytes out. Opens no socket, reads no clock.
//!
//! # What it is for
//!
//! A load generator does two things for each request: it renders the request and decodes the reply. This crate does
//! both for each protocol, and nothing else. The same code serves an epoll loop, a TLS stream, a test that feeds one
//! byte at a time, and a fuzzer.
//!
//! | module | protocol | reference |
//! |---|---|---|
//! | [`http1`] | HTTP/1.0 and 1.1 | RFC 9110, RFC 9112 |
//! | [`memcache`] | memcached, text and meta commands | `doc/protocol.txt` of memcached |
//! | [`mysql`] | MySQL and MariaDB, protocol 10 | "Client/Server Protocol", dev.mysql.com; "Clientserver Protocol", mariadb.com |
//! | [`postgres`] | PostgreSQL, protocol 3.0 | "Frontend/Backend Protocol", PostgreSQL's manual |
//! | [`resp`] | Redis and its forks, RESP2 and RESP3 | "Redis serialization protocol specification", redis.io |
//! | [`smtp`] | SMTP with pipelining and STARTTLS | RFC 5321, RFC 2920, RFC 3207 |
//!
//! # Goals
//!
//! - **Strict**: a reply is checked as strictly as its standard allows. A reply that breaks the standard is an error
//!   that names the violation.
//! - **Bounded**: no byte sequence makes a decoder panic, stall, or use more memory than the limits of its module.
//! - **Cheap**: payload is passed on without a copy. Only a line, head or message that is split over two reads is
//!   joined in a buffer, and only then is memory allocated.
//!
//! # Non-goals
//!
//! Connections, time-outs, retries, TLS and the check whether a reply is the expected one belong to the caller. Only the
//! client's side of each protocol is here.
//!
//! # Example
//!
//! ```
//! use wire::http1::{Event, HeadCache, Request, ResponseDecoder};
//!
//! let mut request = Vec::new();
//! Request::get("/1k", "127.0.0.1:8080").render_into(&mut request)?;
//! assert_eq!(request, b"GET /1k HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n");
//!
//! let (mut decoder, mut cache) = (ResponseDecoder::new(), HeadCache::new());
//! decoder.expect(false);
//! let mut input: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
//! let mut body_bytes = 0;
//! while let Some(event) = decoder.decode(&mut cache, &mut input)? {
//!     match event {
//!         Event::Head(head) => assert_eq!(head.status, 200),
//!         Event::Body(chunk) => body_bytes += chunk.len(),
//!         Event::End { keep_alive } => {
//!             assert!(keep_alive);
//!             break;
//!         }
//!     }
//! }
//! assert_eq!(body_bytes, 5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How a codec is written here
//!
//! All codecs are alike. Each is a folder with `request.rs` (bytes out), a decoder (bytes in) and `error.rs`, and keeps
//! these rules:
//!
//! 1. **Requests** append to a caller's `Vec<u8>`, which is cleared and reused, so that the steady state
//!    allocates nothing. Every part that a user can supply is validated, so that none can inject a second
//!    command. A refused request leaves the buffer unchanged.
//! 2. **`expect(…)`** tells the decoder which reply comes next, because in most protocols the meaning of
//!    a reply depends on its request. Bytes without a request are an error.
//! 3. **`decode(&mut input)`** takes bytes off the front of `input` and returns the next event. `Ok(None)`
//!    means that `input` is used up and more is needed. Bytes after a reply stay in `input`.
//! 4. **Each reply ends in exactly one final event** (`End` or `Done`), which may come when `input` is
//!    already empty: call until the final event or `None`.
//! 5. **A dialogue of several steps** (a greeting, a login, a transaction) calls `expect` and `decode` for each
//!    step. The decoder knows the grammar of one step; the driver in `load` knows the order.
//! 6. **`eof()`** is called when the peer closes, and returns whether that completes the reply or cuts it off.
//! 7. **The state of a connection is small** (40 to 80 bytes so far, without a split line): there may be
//!    15,000 connections. The connections of a worker share what they can ([`http1::HeadCache`]).
//! 8. **After an error** the position in the stream is lost: the caller closes the connection. The error is a
//!    [`DecodeError`] with the protocol's own violations.
//! 9. **Tests**: any split of the bytes gives the same events; mutated bytes neither panic, stall nor
//!    allocate past the limits (`tests/properties`, `fuzz`); `benches/decode.rs` measures the cost.

mod decimal;
mod error;
mod frame;
pub mod http1;
mod line;
pub mod memcache;
pub mod mysql;
mod parameter;
pub mod postgres;
pub mod resp;
pub mod smtp;

pub use error::{DecodeError, ReplyPart};
pub use line::{LineError, LineLimit};
pub use parameter::Parameter;
