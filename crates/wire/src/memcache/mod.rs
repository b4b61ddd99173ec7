//! memcached's text protocol, the client's side, with its meta commands: `doc/protocol.txt` of memcached.
//!
//! [`request`] renders, [`ReplyDecoder`] decodes replies. Not supported: the binary protocol (memcached has deprecated
//! it), UDP, `noreply` and the quiet flag (a request without a reply has no response time), `ma` and `me`.
//!
//! Limits: a line of a reply at most [`MAX_LINE_BYTES`], a value at most [`MAX_VALUE_BYTES`], a key at
//! most [`MAX_KEY_BYTES`].
//!
//! ```
//! use wire::memcache::{Event, Expect, Outcome, ReplyDecoder, request};
//!
//! let mut out = Vec::new();
//! request::get(&mut out, b"greeting")?;
//! assert_eq!(out, b"get greeting\r\n");
//!
//! let mut decoder = ReplyDecoder::new();
//! decoder.expect(Expect::Get);
//! let mut input: &[u8] = b"VALUE greeting 0 5\r\nhello\r\nEND\r\n";
//! while let Some(event) = decoder.decode(&mut input)? {
//!     match event {
//!         Event::Value(value) => assert_eq!((value.key, value.length), (&b"greeting"[..], 5)),
//!         Event::Data(piece) => assert_eq!(piece, b"hello"),
//!         Event::Stat { .. } => unreachable!("only statistics have these"),
//!         Event::Done { outcome, .. } => {
//!             assert_eq!(outcome, Outcome::Retrieved { values: 1 });
//!             break;
//!         }
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod decoder;
mod error;
mod limits;
mod reply;
pub mod request;

pub use decoder::ReplyDecoder;
pub use error::{DecodeError, RequestError, Violation};
pub use limits::{MAX_KEY_BYTES, MAX_LINE_BYTES, MAX_VALUE_BYTES};
pub use reply::{Event, Expect, Outcome, Value, meta_flag};
