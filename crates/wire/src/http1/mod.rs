//! HTTP/1.0 and HTTP/1.1, the client's side: RFC 9110 (semantics) and RFC 9112 (messages).
//!
//! [`Request`] renders, [`ResponseDecoder`] decodes replies; with [`HeadCache`] a repeated head costs one comparison.
//! Interim replies (1xx) are skipped. Not supported: upgrades and tunnels (`101`, `CONNECT`), content codings, redirects,
//! cookies.
//!
//! Limits: a head and a trailer section at most [`MAX_HEAD_BYTES`] each, at most [`MAX_HEADERS`] fields
//! in a head, and at most [`MAX_CHUNK_LINE_BYTES`] in the size line of one chunk.

mod cache;
mod chunked;
mod error;
mod head;
mod limits;
mod request;
mod response;

pub use cache::HeadCache;
pub use error::{DecodeError, RequestError, Violation};
pub use head::{Framing, Head};
pub use limits::{MAX_CHUNK_LINE_BYTES, MAX_HEAD_BYTES, MAX_HEADERS};
pub use request::{HeaderValues, PreparedRequest, Request};
pub use response::{Event, ResponseDecoder};
