//! SMTP, the client's side: RFC 5321, with PIPELINING (RFC 2920), SIZE (RFC 1870), enhanced status codes (RFC 2034,
//! RFC 3463) and STARTTLS (RFC 3207).
//!
//! [`request`] renders commands and messages, [`ReplyDecoder`] decodes replies, [`Extensions`] has what a server offers.
//! AUTH, CHUNKING and internationalized addresses are not supported. The order of a session is up to the caller.
//!
//! Limits: a line at most [`MAX_LINE_BYTES`], a reply at most [`MAX_LINES`] lines, a path at most
//! [`MAX_PATH_BYTES`].
//!
//! ```
//! use wire::smtp::{Event, Extensions, ReplyDecoder, request};
//!
//! let mut out = Vec::new();
//! request::ehlo(&mut out, "client.example")?;
//! assert_eq!(out, b"EHLO client.example\r\n");
//!
//! let mut decoder = ReplyDecoder::new();
//! decoder.expect();
//! let mut input: &[u8] = b"250-mx.example at your service\r\n250-PIPELINING\r\n250 STARTTLS\r\n";
//! let mut offered = Extensions::default();
//! let code = loop {
//!     match decoder.decode(&mut input)? {
//!         Some(Event::Line(line)) => offered.note(line.text),
//!         Some(Event::End(line)) => {
//!             offered.note(line.text);
//!             break line.code;
//!         }
//!         None => unreachable!("the reply is complete"),
//!     }
//! };
//! assert_eq!((code, offered.pipelining, offered.starttls), (250, true, true));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod decoder;
mod error;
mod extensions;
mod limits;
mod reply;
pub mod request;

pub use decoder::ReplyDecoder;
pub use error::{DecodeError, RequestError, Violation};
pub use extensions::Extensions;
pub use limits::{MAX_LINE_BYTES, MAX_LINES, MAX_PATH_BYTES};
pub use reply::{EnhancedCode, Event, ReplyLine};
