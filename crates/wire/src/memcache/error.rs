//! The errors of replies ([`DecodeError`]) and of requests ([`RequestError`]). An error that the server
//! reports (`SERVER_ERROR`, …) is no violation but an [`Outcome`](super::Outcome).

use super::limits::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
use crate::line::LineError;

/// Why the bytes of a server are not the expected reply.
pub type DecodeError = crate::DecodeError<Violation>;

/// A rule of memcached's protocol that the server has broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A line is too long, or does not end in CRLF.
    #[error(transparent)]
    Line(#[from] LineError),
    /// A line is no reply to the command.
    #[error("the reply does not belong to the command")]
    UnexpectedReply,
    /// A `VALUE` or `VA` line breaks the grammar.
    #[error("the line before a value is malformed")]
    MalformedValue,
    /// A value is announced as larger than [`MAX_VALUE_BYTES`].
    #[error("a value is announced as larger than {MAX_VALUE_BYTES} bytes")]
    ValueTooLarge,
    /// The data of a value is not followed by CRLF: it is longer or shorter than announced.
    #[error("a value does not end where its length says")]
    MalformedValueEnd,
}

/// Why a request is refused. Each names the bad part and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The key is empty.
    #[error("the key is empty: give it 1 to {MAX_KEY_BYTES} bytes")]
    EmptyKey,
    /// The key is longer than [`MAX_KEY_BYTES`].
    #[error("the key has {bytes} bytes: shorten it to {MAX_KEY_BYTES}")]
    KeyTooLong {
        /// Its length.
        bytes: usize,
    },
    /// The key has a space or a control character.
    #[error("the key has the byte {found:#04x} at {at}: leave out white space and control characters")]
    KeyByte {
        /// The offending byte.
        found: u8,
        /// Its position in bytes.
        at: usize,
    },
    /// The value is larger than [`MAX_VALUE_BYTES`].
    #[error("the value has {bytes} bytes: shorten it to {MAX_VALUE_BYTES}")]
    ValueTooLarge {
        /// Its length.
        bytes: usize,
    },
    /// Flags of a meta command that are not printable words with one space between them.
    #[error("meta flags {0:?} are not words of printable characters with one space between them")]
    MetaFlags(String),
    /// The flag `q`, which leaves requests without a reply.
    #[error("meta flag \"q\" leaves requests without a reply: leave it out")]
    QuietFlag,
    /// The section of `stats` is not one word.
    #[error("statistics {0:?} are not one word of printable characters, as in \"items\"")]
    Section(String),
}
