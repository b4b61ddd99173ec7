//! Protocols as state machines: bytes in, bytes out. Opens no socket, reads no clock.
//!
//! # What it is for
//!
//! A load generator spends its cycles twice for each request: once to write it, once to understand
//! the reply. This crate does both for each protocol, and nothing else, so that the same code serves
//! an epoll loop, a TLS stream, a test that feeds one byte at a time, and a fuzzer.
//!
//! | module | protocol | reference |
//! |---|---|---|
//! | [`http1`] | HTTP/1.0 and 1.1 | RFC 9110, RFC 9112 |
//! | [`memcache`] | memcached, text and meta commands | `doc/protocol.txt` of memcached |
//! | [`mysql`] | MySQL and MariaDB, protocol 10 | "Client/Server Protocol", dev.mysql.com; "Clientserver Protocol", mariadb.com |
//! | [`postgres`] | PostgreSQL, protocol 3.0 | "Frontend/Backend Protocol", PostgreSQL's manual |
//! | [`resp`] | Redis and its kin, RESP2 and RESP3 | "Redis serialization protocol specification", redis.io |
//! | [`smtp`] | SMTP with pipelining and STARTTLS | RFC 5321, RFC 2920, RFC 3207 |
//!
//! # Goals
//!
//! - **Honest**: what a reply says is checked as strictly as its standard allows; a reply that breaks
//!   the standard is an error that names the fault, never a fast success.
//! - **Bounded**: no byte sequence makes a decoder panic, stall, or hold more memory than the limits
//!   that its module states.
//! - **Cheap**: payload is handed on where it lies and never copied. Only a line or head that is split
//!   over two reads is put together in a buffer, and only then is memory allocated.
//!
//! # Non-goals
//!
//! Connections, time-outs, retries, TLS and the judgement whether a reply is the wanted one belong to
//! the caller. Servers are not written with this: only the client's half of each protocol is here.
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
//! The next protocol should feel like the last one. Each is a folder with `request.rs` (bytes out),
//! a decoder (bytes in) and `error.rs`, and keeps to these rules:
//!
//! 1. **Requests** append to a caller's `Vec<u8>`, which is cleared and reused, so that the steady state
//!    allocates nothing. Every part that a user can supply is validated (nothing may smuggle a second
//!    command), and a refused request leaves the buffer as it was.
//! 2. **`expect(…)`** tells the decoder which reply comes next, because in most protocols the meaning of
//!    a reply depends on its request. Bytes that nobody asked for are an error.
//! 3. **`decode(&mut input)`** takes bytes off the front of `input` and returns the next event. `Ok(None)`
//!    means that `input` is used up and more is needed. What follows a reply stays in `input`.
//! 4. **Each reply ends in exactly one final event** (`End` or `Done`), which may come when `input` is
//!    already empty: call until the final event or `None`.
//! 5. **A conversation of several steps** (a greeting, a login, a transaction) is `expect` and `decode`
//!    again for each step. The decoder knows the grammar of one step; the driver in `load` knows the order.
//! 6. **`eof()`** is told when the peer closes, and says whether that completes the reply or cuts it off.
//! 7. **State is a few words a connection** (40 to 80 bytes so far, without a split line): there may
//!    be fifteen thousand. What can be shared by all connections of a worker is shared ([`http1::HeadCache`]).
//! 8. **After an error** the position in the stream is lost: the connection is to be closed.
//! 9. **Tests**: any split of the bytes gives the same events; mutated bytes neither panic, stall nor
//!    allocate past the limits (`tests/properties`, `fuzz`); the cost is measured in `benches/decode.rs`.

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
