//! What is kept of the reply to a statement: counts, the first value, and the failure.

/// A reply in progress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SqlReply {
    /// Rows received.
    pub rows: u32,
    /// Rows changed.
    pub affected: u64,
    /// The first field of the first row; empty if it is NULL.
    pub first: Vec<u8>,
    /// Why the statement failed.
    pub failure: Option<Failure>,
    /// All rows as text, a line each, with a blank between the fields. Rows are kept only if it is set.
    pub transcript: Option<String>,
}

impl SqlReply {
    /// Prepares for the next reply.
    #[inline]
    pub fn clear(&mut self) {
        self.rows = 0;
        self.affected = 0;
        self.first.clear();
        self.failure = None;
    }

    /// Takes a row.
    #[inline]
    pub fn take_row<'a>(&mut self, mut fields: impl Iterator<Item = Option<&'a [u8]>>) {
        self.rows = self.rows.saturating_add(1);
        if let Some(transcript) = &mut self.transcript {
            let texts: Vec<_> =
                fields.map(|field| String::from_utf8_lossy(field.unwrap_or(b"NULL"))).collect();
            transcript.push_str(&texts.join(" "));
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
    /// How the driver reacts to it.
    pub kind: FailureKind,
    /// The server's message.
    pub text: Box<str>,
}

/// What a user does about a table that is missing, if it is one of the transactions' own.
pub(super) fn remedy_of_missing_table(is_missing: bool, message: &str) -> &'static str {
    if is_missing && message.contains("sbtest") { ": create the tables with --populate" } else { "" }
}

/// The kind of a failure. After one of the first four, which let other transactions continue, the transaction begins
/// again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Transactions wait for each other.
    Deadlock,
    /// Another transaction had a lock for too long.
    LockTimeout,
    /// Another transaction has changed the rows that were read.
    Serialization,
    /// Another transaction has inserted the same row.
    Duplicate,
    /// The table exists already.
    TableExists,
    /// The server, or this user's share of it, has no connection left.
    TooManyConnections,
    /// The server starts, stops or recovers.
    NotReady,
    /// Any other failure.
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_and_the_first_value_kept() {
        let mut reply = SqlReply::default();
        reply.take_row([Some(&b"a"[..]), None].into_iter());
        reply.take_row([Some(&b"b"[..])].into_iter());
        assert_eq!((reply.rows, reply.first.as_slice()), (2, &b"a"[..]));
        reply.clear();
        assert_eq!(reply, SqlReply::default());
    }

    #[test]
    fn a_missing_table_of_the_transactions_has_a_remedy() {
        assert!(remedy_of_missing_table(true, "Table 'test.sbtest1' doesn't exist").contains("--populate"));
        assert_eq!(remedy_of_missing_table(true, "Table 'test.orders' doesn't exist"), "");
        assert_eq!(remedy_of_missing_table(false, "Deadlock on sbtest1"), "");
    }

    #[test]
    fn a_transcript_has_all_rows() {
        let mut reply = SqlReply { transcript: Some(String::new()), ..SqlReply::default() };
        reply.take_row([Some(&b"Questions"[..]), Some(b"7")].into_iter());
        reply.take_row([None].into_iter());
        assert_eq!(reply.transcript.as_deref(), Some("Questions 7\nNULL\n"));
    }
}
