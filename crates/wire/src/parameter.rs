//! The values that are bound to a prepared statement; the codecs of databases share them.

/// A value for one of a statement's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter<'a> {
    /// Four bytes, signed.
    Int(i32),
    /// A text, sent with its length, so that no byte of it can end it.
    Text(&'a [u8]),
}
