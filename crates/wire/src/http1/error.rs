//! The errors of replies ([`DecodeError`]) and of requests ([`RequestError`]). The files that check a
//! rule name its place in the standard.

use super::limits::{MAX_HEAD_BYTES, MAX_HEADERS};

/// Why the bytes of a server are not the expected reply.
pub type DecodeError = crate::DecodeError<Violation>;

/// A rule of HTTP/1 that the server has broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The reply does not begin with `HTTP/1.`
    #[error("the reply does not begin with \"HTTP/1.\": is this an HTTP/1 server?")]
    NotHttp1,
    /// The status line or a field breaks the grammar.
    #[error("the head of the reply is malformed")]
    MalformedHead,
    /// The head does not end within [`MAX_HEAD_BYTES`].
    #[error("the head of the reply is larger than {MAX_HEAD_BYTES} bytes")]
    HeadTooLarge,
    /// The head has more than [`MAX_HEADERS`] fields.
    #[error("the head of the reply has more than {MAX_HEADERS} fields")]
    TooManyHeaders,
    /// `101 Switching Protocols`, which was not requested.
    #[error("the server switches protocols (101), which was not requested")]
    UnexpectedUpgrade,
    /// `Content-Length` is no decimal number below 2^64.
    #[error("Content-Length is not a number")]
    InvalidContentLength,
    /// Several `Content-Length` values that differ.
    #[error("several Content-Length values differ")]
    ConflictingContentLength,
    /// Both `Transfer-Encoding` and `Content-Length`: a sign of response splitting.
    #[error("both Transfer-Encoding and Content-Length are present")]
    ConflictingFraming,
    /// `chunked` is given twice, or is not the last transfer coding.
    #[error("Transfer-Encoding is invalid: \"chunked\" must come once and last")]
    InvalidTransferEncoding,
    /// The size line of a chunk breaks the grammar, or exceeds 2^64.
    #[error("the size line of a chunk is malformed")]
    MalformedChunkSize,
    /// The size line of a chunk, with its extensions, is too long.
    #[error("the size line of a chunk is too long")]
    ChunkLineTooLong,
    /// The data of a chunk is not followed by CRLF: it is longer or shorter than its size line says.
    #[error("the data of a chunk does not end where its size line says")]
    MalformedChunkEnd,
    /// A field after the last chunk breaks the grammar.
    #[error("the trailer section is malformed")]
    MalformedTrailer,
    /// The trailer section does not end within [`MAX_HEAD_BYTES`].
    #[error("the trailer section is larger than {MAX_HEAD_BYTES} bytes")]
    TrailerTooLarge,
}

/// Why a request is refused. Each names the bad part and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The method is empty or has a character outside of RFC 9110's `token`.
    #[error("method {0:?} is not a token: use letters, as in GET")]
    Method(String),
    /// `CONNECT` opens a tunnel instead of asking for a reply.
    #[error("method CONNECT opens a tunnel: it is not supported")]
    Connect,
    /// The target does not begin with `/`, `http://` or `https://`, and is not `*`.
    #[error("target {0:?} must begin with \"/\"")]
    TargetForm(String),
    /// The target has a space, a control character, a `#` or a character outside of ASCII.
    #[error("target {target:?} has {found:?} at byte {at}: percent-encode it")]
    TargetCharacter {
        /// The whole target.
        target: String,
        /// The offending character.
        found: char,
        /// Its position in bytes.
        at: usize,
    },
    /// The host is empty, or has a space, a control character, a `/` or a character outside of ASCII.
    #[error("host {0:?} is not a host with an optional port")]
    Host(String),
    /// `Host` is given more than once.
    #[error("header Host is given twice: keep one")]
    DuplicateHost,
    /// The name of a header is empty or has a character outside of `token`.
    #[error("header name {0:?} is not a token: use letters, digits and \"-\"")]
    HeaderName(String),
    /// The value of a header has a control character such as CR, LF or NUL.
    #[error("header {name}: the value has {found:?} at byte {at}: remove it")]
    HeaderValue {
        /// The name of the header.
        name: String,
        /// The offending character.
        found: char,
        /// Its position in bytes.
        at: usize,
    },
    /// A header that frames the body, which is set from the body itself.
    #[error("header {0} is set from the body: leave it out")]
    FramingHeader(String),
}
