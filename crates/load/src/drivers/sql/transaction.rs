//! The statements of each transaction, as in the `oltp_*.lua` of sysbench 1.0.

use serde::{Deserialize, Serialize};

use super::statement::Statement::{
    self, Delete as Remove, Distinct, IndexUpdate, Insert as Add, NonIndexUpdate, Order, Point, PutBack,
    Range, Sum,
};

/// One of sysbench's OLTP benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transaction {
    /// Selects one row by its key.
    PointSelect,
    /// Selects ten rows by key, and four ranges of a hundred rows.
    ReadOnly,
    /// A read-only transaction, then a write-only one.
    ReadWrite,
    /// Changes the indexed column of a row.
    UpdateIndex,
    /// Changes a column without an index of a row.
    UpdateNonIndex,
    /// Inserts a row.
    Insert,
    /// Deletes a row for good.
    Delete,
    /// Does both updates, deletes a row and inserts it again.
    WriteOnly,
}

impl Transaction {
    /// All transactions.
    pub const ALL: [Self; 8] = [
        Self::PointSelect,
        Self::ReadOnly,
        Self::ReadWrite,
        Self::UpdateIndex,
        Self::UpdateNonIndex,
        Self::Insert,
        Self::Delete,
        Self::WriteOnly,
    ];

    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::PointSelect => "point-select",
            Self::ReadOnly => "read-only",
            Self::ReadWrite => "read-write",
            Self::UpdateIndex => "update-index",
            Self::UpdateNonIndex => "update-non-index",
            Self::Insert => "insert",
            Self::Delete => "delete",
            Self::WriteOnly => "write-only",
        }
    }

    /// Its statements. A single one commits by itself; several stand between `BEGIN` and `COMMIT`.
    pub(super) const fn statements(self) -> &'static [Statement] {
        match self {
            Self::PointSelect => &[Point],
            Self::ReadOnly => &[
                Point, Point, Point, Point, Point, Point, Point, Point, Point, Point, Range, Sum, Order,
                Distinct,
            ],
            Self::ReadWrite => &[
                Point,
                Point,
                Point,
                Point,
                Point,
                Point,
                Point,
                Point,
                Point,
                Point,
                Range,
                Sum,
                Order,
                Distinct,
                IndexUpdate,
                NonIndexUpdate,
                Remove,
                PutBack,
            ],
            Self::UpdateIndex => &[IndexUpdate],
            Self::UpdateNonIndex => &[NonIndexUpdate],
            Self::Insert => &[Add],
            Self::Delete => &[Remove],
            Self::WriteOnly => &[IndexUpdate, NonIndexUpdate, Remove, PutBack],
        }
    }
}

impl std::str::FromStr for Transaction {
    type Err = UnknownTransaction;

    fn from_str(text: &str) -> Result<Self, UnknownTransaction> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or(UnknownTransaction)
    }
}

/// A name that no transaction has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected one of {}", Transaction::ALL.map(Transaction::name).join(", "))]
pub struct UnknownTransaction;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_in_files() {
        for kind in Transaction::ALL {
            assert_eq!(serde_json::to_string(&kind).expect("JSON"), format!("{:?}", kind.name()));
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert!("select".parse::<Transaction>().is_err_and(|e| e.to_string().contains("point-select")));
    }

    #[test]
    fn a_read_write_transaction_is_a_read_only_and_a_write_only_one() {
        let both = [Transaction::ReadOnly.statements(), Transaction::WriteOnly.statements()].concat();
        assert_eq!(Transaction::ReadWrite.statements(), both);
    }
}
