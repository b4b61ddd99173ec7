//! Which statements make up which transaction, as in the `oltp_*.lua` of sysbench 1.0.

use serde::{Deserialize, Serialize};

use super::statement::Statement::{
    self, Delete as Remove, Distinct, IndexUpdate, Insert as Add, NonIndexUpdate, Order, Point, PutBack,
    Range, Sum,
};

/// What users of sysbench know as its OLTP benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transaction {
    /// One row by its key.
    PointSelect,
    /// Ten rows by key, and four ranges of a hundred.
    ReadOnly,
    /// The same, and then what a write-only one does.
    ReadWrite,
    /// A row's indexed column is changed.
    UpdateIndex,
    /// A row's column without an index is changed.
    UpdateNonIndex,
    /// A row is put in.
    Insert,
    /// A row is deleted, and not put back.
    Delete,
    /// Both updates; a row is deleted and put back.
    WriteOnly,
}

impl Transaction {
    /// All of them.
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

    /// As it is written in files and on the command line.
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

    /// Its statements. One alone commits itself; several stand between `BEGIN` and `COMMIT`.
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
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| format!("expected one of {}", names()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_files() {
        for kind in Transaction::ALL {
            assert_eq!(serde_json::to_string(&kind).expect("JSON"), format!("{:?}", kind.name()));
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert!("select".parse::<Transaction>().is_err_and(|e| e.contains("point-select")));
    }

    #[test]
    fn a_read_write_transaction_is_a_read_only_and_a_write_only_one() {
        let both = [Transaction::ReadOnly.statements(), Transaction::WriteOnly.statements()].concat();
        assert_eq!(Transaction::ReadWrite.statements(), both);
    }
}
