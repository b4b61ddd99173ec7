//! PostgreSQL's protocol 3.0, the client's side: "Frontend/Backend Protocol" of the PostgreSQL manual.
//!
//! [`request`] renders, [`ReplyDecoder`] decodes replies, [`auth`] makes the answers of a login from a password
//! (SCRAM-SHA-256, MD5, clear text). Supported are simple and extended queries, prepared statements with binary
//! parameters, and `COPY … FROM STDIN`. Requests may be combined: `Bind`, `Execute` and `Sync` are sent in one piece and
//! have one reply, which ends with [`Event::Ready`].
//!
//! Not supported: `COPY … TO STDOUT`, replication, cancelling, GSSAPI. TLS is up to the caller.
//!
//! Limit: a message of at most [`MAX_MESSAGE_BYTES`].
//!
//! ```
//! use wire::postgres::{Event, Expect, ReplyDecoder, request};
//! use wire::Parameter;
//!
//! let mut out = Vec::new();
//! request::bind_and_execute(&mut out, "s1", &[Parameter::Int(7)]);
//! request::sync(&mut out);
//!
//! let mut decoder = ReplyDecoder::new();
//! decoder.expect(Expect::Query);
//! let mut input: &[u8] = b"2\0\0\0\x04D\0\0\0\x0d\0\x01\0\0\0\x03barC\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
//! while let Some(event) = decoder.decode(&mut input)? {
//!     match event {
//!         Event::Row(row) => assert!(row.fields().eq([Some(&b"bar"[..])])),
//!         Event::Complete { tag } => assert_eq!(wire::postgres::rows_of(tag), Some(1)),
//!         Event::Ready(_) => break,
//!         _ => {}
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod auth;
mod decoder;
mod error;
mod message;
pub mod request;

pub use decoder::ReplyDecoder;
pub use error::{DecodeError, Violation};
pub use message::{Authentication, Event, Expect, Fields, Row, ServerError, TransactionStatus, rows_of};

/// Most bytes of a message of the server with its header. The rows of a load have a few hundred. The decoder enforces it.
pub const MAX_MESSAGE_BYTES: usize = 1 << 20;
