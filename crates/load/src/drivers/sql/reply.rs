//! What is kept of a reply to a statement: counts, the first value, and why it failed if it did.

/// A reply so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Rows that came.
    pub rows: u32,
    /// Rows that were changed.
    pub affected: u64,
    /// The first field of the first row; nothing if it is NULL.
    pub first: Vec<u8>,
    /// Why the statement failed.
    pub failure: Option<Failure>,
    /// All rows as text, a line each, fields with a space between; kept only if it is there.
    pub transcript: Option<String>,
}

impl Reply {
    /// Gets ready for the next one.
    #[inline]
    pub fn clear(&mut self) {
        self.rows = 0;
        self.affected = 0;
        self.first.clear();
        self.failure = None;
    }

    /// A row has come.
    #[inline]
    pub fn take_row<'a>(&mut self, mut fields: impl Iterator<Item = Option<&'a [u8]>>) {
        self.rows = self.rows.saturating_add(1);
        if let Some(transcript) = &mut self.transcript {
            let words: Vec<_> =
                fields.map(|field| String::from_utf8_lossy(field.unwrap_or(b"NULL"))).collect();
            transcript.push_str(&words.join(" "));
            transcript.push('\n');
        } else if self.rows == 1
            && let Some(Some(first)) = fields.next()
        {
            self.first.extend_from_slice(first);
        }
    }
}

/// Why a statement failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What follows from it.
    pub kind: FailureKind,
    /// The server's words.
    pub text: Box<str>,
}

/// What kind of failure it is: the first four are the server's way to let others go on, and the transaction is
/// begun anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The transactions wait for each other.
    Deadlock,
    /// Another held a lock for too long.
    LockTimeout,
    /// Another has changed what was read.
    Serialization,
    /// Another has put back the row that was to be put in.
    Duplicate,
    /// The table is there already.
    TableExists,
    /// Any other.
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_and_the_first_value_kept() {
        let mut reply = Reply::default();
        reply.take_row([Some(&b"a"[..]), None].into_iter());
        reply.take_row([Some(&b"b"[..])].into_iter());
        assert_eq!((reply.rows, reply.first.as_slice()), (2, &b"a"[..]));
        reply.clear();
        assert_eq!(reply, Reply::default());
    }

    #[test]
    fn a_transcript_has_all() {
        let mut reply = Reply { transcript: Some(String::new()), ..Reply::default() };
        reply.take_row([Some(&b"Questions"[..]), Some(b"7")].into_iter());
        reply.take_row([None].into_iter());
        assert_eq!(reply.transcript.as_deref(), Some("Questions 7\nNULL\n"));
    }
}
