//! RESP, the protocol of Redis, Valkey and other forks, versions 2 and 3, the client's side: the
//! "Redis serialization protocol specification" on redis.io.
//!
//! [`request`] renders, [`ReplyDecoder`] decodes replies. Not supported: streamed strings and aggregates (no server sends
//! them), and RESP2's subscriptions (their messages look like replies; RESP3's pushes do not).
//!
//! Limits: a line at most [`MAX_LINE_BYTES`], a bulk string at most [`MAX_BULK_BYTES`], an aggregate at most
//! [`MAX_ELEMENTS`] elements, aggregates nested at most [`MAX_DEPTH`] deep.
//!
//! ```
//! use wire::resp::{Aggregate, Bulk, Event, ReplyDecoder, request};
//!
//! let mut out = Vec::new();
//! request::command(&mut out, "LRANGE", &[b"list", b"0", b"-1"]);
//! assert_eq!(out, b"*4\r\n$6\r\nLRANGE\r\n$4\r\nlist\r\n$1\r\n0\r\n$2\r\n-1\r\n");
//!
//! let mut decoder = ReplyDecoder::new();
//! decoder.expect();
//! let mut input: &[u8] = b"*2\r\n$5\r\nhello\r\n:7\r\n";
//! assert_eq!(decoder.decode(&mut input)?, Some(Event::Aggregate { kind: Aggregate::Array, elements: 2 }));
//! assert_eq!(decoder.decode(&mut input)?, Some(Event::Bulk { kind: Bulk::String, length: 5 }));
//! assert_eq!(decoder.decode(&mut input)?, Some(Event::Data(b"hello")));
//! assert_eq!(decoder.decode(&mut input)?, Some(Event::Integer(7)));
//! assert_eq!(decoder.decode(&mut input)?, Some(Event::End { push: false }));
//! # Ok::<(), wire::resp::DecodeError>(())
//! ```

mod decoder;
mod error;
mod limits;
mod reply;
pub mod request;

pub use decoder::ReplyDecoder;
pub use error::{DecodeError, Violation};
pub use limits::{MAX_BULK_BYTES, MAX_DEPTH, MAX_ELEMENTS, MAX_LINE_BYTES};
pub use reply::{Aggregate, Bulk, Event};
