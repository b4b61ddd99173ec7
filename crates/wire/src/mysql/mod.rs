//! The protocol of MySQL and MariaDB, the client's side: "Client/Server Protocol" of MySQL's internals manual,
//! and "Clientserver Protocol" of MariaDB's.
//!
//! [`request`] renders, [`ReplyDecoder`] decodes replies, [`auth`] makes the answers of a login from a password
//! (`mysql_native_password`, `caching_sha2_password`). Supported are queries with rows as text, and prepared statements
//! with binary rows, whose fields of text types are decoded.
//!
//! Not supported: `LOAD DATA LOCAL`, cursors, compression, and servers before MySQL 5.7 and MariaDB 10.2 (they lack
//! `CLIENT_DEPRECATE_EOF`). TLS is up to the caller.
//!
//! Limit: a packet of at most [`MAX_PACKET_BYTES`].
//!
//! ```
//! use wire::mysql::{Event, Expect, ReplyDecoder, request};
//! use wire::Parameter;
//!
//! let mut out = Vec::new();
//! request::execute(&mut out, 1, &[Parameter::Int(7)]);
//!
//! let mut decoder = ReplyDecoder::new();
//! decoder.expect(Expect::Execute);
//! let mut input: &[u8] = b"\x07\0\0\x01\0\x01\0\x02\0\0\0";
//! match decoder.decode(&mut input)? {
//!     Some(Event::Done(done)) => assert_eq!(done.affected_rows, 1),
//!     other => unreachable!("{other:?}"),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod auth;
mod decoder;
mod error;
mod packet;
pub mod request;
mod row;

pub use decoder::{Expect, ReplyDecoder};
pub use error::{DecodeError, Violation};
pub use packet::{Done, Event, Greeting, Prepared, ServerError};
pub use row::Row;

/// Most bytes of a packet of the server with its header. The rows of a load have a few hundred. The decoder enforces it.
pub const MAX_PACKET_BYTES: usize = 1 << 20;
