//! What is bound to a prepared statement: the few kinds of value that the database codecs share.

/// A value for one of a statement's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter<'a> {
    /// Four bytes, signed.
    Int(i32),
    /// A text, sent with its length: nothing in it can end it.
    Text(&'a [u8]),
}
