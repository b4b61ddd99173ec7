//! The errors of all decoders. What is the same in every protocol is here; each codec adds the rules of its own that a
//! server can break, as a type called `Violation`.

use crate::line::LineError;

/// Why bytes of a server are not the expected reply. The position in the stream is lost: close the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError<V> {
    /// Bytes arrived when no reply was expected: a reply too many, or one that is longer than announced.
    #[error("the server sent bytes that no request asked for: is a reply longer than announced?")]
    Unsolicited,
    /// The server closed before the first byte of a reply. A server may do so with a connection that was idle for long.
    #[error("the server closed the connection before it replied")]
    ClosedBeforeReply,
    /// The server closed within this part of its reply.
    #[error("the server closed the connection within {0}")]
    ClosedWithin(ReplyPart),
    /// The reply breaks a rule of its protocol.
    #[error(transparent)]
    Violation(V),
}

/// A part of a reply that can be cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyPart {
    /// Any part, where the protocol has no names for them.
    Reply,
    /// The head of an HTTP reply.
    Head,
    /// The body of an HTTP reply.
    Body,
}

impl std::fmt::Display for ReplyPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Reply => "its reply",
            Self::Head => "the head of its reply",
            Self::Body => "the body of its reply",
        })
    }
}

impl<V> From<V> for DecodeError<V> {
    fn from(violation: V) -> Self {
        Self::Violation(violation)
    }
}

impl<V> DecodeError<V> {
    /// The error of a line, in a protocol of lines.
    pub(crate) fn of_line(error: LineError) -> Self
    where
        V: From<LineError>,
    {
        Self::Violation(error.into())
    }

    /// The error where the server closes now; `has_begun` says whether any byte of the reply has come.
    pub(crate) fn closed(has_begun: bool) -> Self {
        if has_begun { Self::ClosedWithin(ReplyPart::Reply) } else { Self::ClosedBeforeReply }
    }
}
