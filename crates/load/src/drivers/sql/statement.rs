//! The prepared statements: their text, their random parameters, and the replies that they must have.

use std::ops::RangeInclusive;

use rand::{Rng, RngExt};
use wire::Parameter;

use super::reply::SqlReply;
use super::row::{C_BYTES, TableRow};

/// Rows of a range query, as in sysbench's defaults.
pub const RANGE_ROWS: u32 = 100;

/// A kind of statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    Point,
    Range,
    Sum,
    Order,
    Distinct,
    IndexUpdate,
    NonIndexUpdate,
    Delete,
    /// Inserts the row that was deleted.
    PutBack,
    /// Inserts a row; the database numbers it.
    Insert,
}

/// The parameters of a statement on which its reply depends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentStatement {
    pub table: u32,
    /// The row, or the first row of a range.
    pub id: u32,
}

/// The result of checking a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementResult {
    /// The statement has found its rows.
    Found,
    /// The row is missing, which is allowed.
    Missed,
    /// The reply is wrong, and why.
    Wrong(&'static str),
}

impl Statement {
    pub const ALL: [Self; 10] = [
        Self::Point,
        Self::Range,
        Self::Sum,
        Self::Order,
        Self::Distinct,
        Self::IndexUpdate,
        Self::NonIndexUpdate,
        Self::Delete,
        Self::PutBack,
        Self::Insert,
    ];

    /// Its text, with `{t}` for the table.
    pub fn template(self) -> &'static str {
        match self {
            Self::Point => "SELECT c FROM {t} WHERE id=?",
            Self::Range => "SELECT c FROM {t} WHERE id BETWEEN ? AND ?",
            Self::Sum => "SELECT SUM(k) FROM {t} WHERE id BETWEEN ? AND ?",
            Self::Order => "SELECT c FROM {t} WHERE id BETWEEN ? AND ? ORDER BY c",
            Self::Distinct => "SELECT DISTINCT c FROM {t} WHERE id BETWEEN ? AND ? ORDER BY c",
            Self::IndexUpdate => "UPDATE {t} SET k=k+1 WHERE id=?",
            Self::NonIndexUpdate => "UPDATE {t} SET c=? WHERE id=?",
            Self::Delete => "DELETE FROM {t} WHERE id=?",
            Self::PutBack => "INSERT INTO {t} (id, k, c, pad) VALUES (?, ?, ?, ?)",
            Self::Insert => "INSERT INTO {t} (k, c, pad) VALUES (?, ?, ?)",
        }
    }

    /// Passes the parameters for the row `id` to `send`. Other values are drawn, `k` from `1..=rows`.
    #[inline]
    pub fn with_parameters<R>(
        self,
        id: u32,
        rows: u32,
        rng: &mut impl Rng,
        send: impl FnOnce(&[Parameter<'_>]) -> R,
    ) -> R {
        let number = |value: u32| Parameter::Int(value.cast_signed());
        match self {
            Self::Point | Self::IndexUpdate | Self::Delete => send(&[number(id)]),
            Self::Range | Self::Sum | Self::Order | Self::Distinct => {
                send(&[number(id), number(id.saturating_add(RANGE_ROWS - 1))])
            }
            Self::NonIndexUpdate => send(&[Parameter::Text(&TableRow::draw(rng).c), number(id)]),
            Self::PutBack | Self::Insert => {
                let k = number(rng.random_range(1..=rows));
                let row = TableRow::draw(rng);
                let values = [number(id), k, Parameter::Text(&row.c), Parameter::Text(&row.pad)];
                send(if self == Self::Insert { &values[1..] } else { &values })
            }
        }
    }

    /// Compares a reply with the sent statement. The table has `rows` rows; with `gaps` any of them may be missing.
    /// With `moving` other transactions delete rows and insert them again, so that a write may miss its row.
    pub fn check(
        self,
        reply: &SqlReply,
        sent: SentStatement,
        rows: u32,
        gaps: bool,
        moving: bool,
    ) -> StatementResult {
        let is_value = reply.first.len() >= C_BYTES;
        match self {
            Self::Point if reply.rows == 1 && is_value => StatementResult::Found,
            Self::Point if reply.rows == 0 && gaps => StatementResult::Missed,
            Self::Point => StatementResult::Wrong("a point select must return one row"),
            Self::Range | Self::Order | Self::Distinct => {
                let whole = RANGE_ROWS.min(rows - sent.id + 1);
                let expected: RangeInclusive<u32> = match (gaps, self) {
                    // New rows stand after all others.
                    (true, _) => 0..=RANGE_ROWS,
                    // Two rows may have the same text.
                    (false, Self::Distinct) => 1..=RANGE_ROWS,
                    (false, _) => whole..=if sent.id + RANGE_ROWS > rows { RANGE_ROWS } else { whole },
                };
                if expected.contains(&reply.rows) && (is_value || reply.rows == 0) {
                    StatementResult::Found
                } else {
                    StatementResult::Wrong("a range must return its rows")
                }
            }
            Self::Sum if reply.rows == 1 => StatementResult::Found,
            Self::Sum => StatementResult::Wrong("a sum must be one row"),
            Self::IndexUpdate | Self::NonIndexUpdate | Self::Delete => match reply.affected {
                1 => StatementResult::Found,
                0 if gaps || moving => StatementResult::Missed,
                _ => StatementResult::Wrong("a write must change one row"),
            },
            Self::PutBack | Self::Insert if reply.affected == 1 => StatementResult::Found,
            Self::PutBack | Self::Insert => StatementResult::Wrong("an insert must insert one row"),
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    fn parameters(statement: Statement) -> Vec<String> {
        statement.with_parameters(7, 1_000, &mut Pcg64Mcg::seed_from_u64(1), |parameters| {
            parameters.iter().map(|p| format!("{p:?}").chars().take(6).collect()).collect()
        })
    }

    #[test]
    fn every_placeholder_gets_a_parameter() {
        for statement in Statement::ALL {
            let placeholders = statement.template().matches('?').count();
            assert_eq!(parameters(statement).len(), placeholders, "{statement:?}");
        }
        assert_eq!(parameters(Statement::Range), ["Int(7)", "Int(10"]);
    }

    fn checked(statement: Statement, rows: u32, affected: u64, id: u32, gaps: bool) -> StatementResult {
        let reply = SqlReply { rows, affected, first: vec![b'5'; C_BYTES], ..SqlReply::default() };
        statement.check(&reply, SentStatement { table: 0, id }, 1_000, gaps, false)
    }

    #[test]
    fn replies_are_checked() {
        use Statement::*;
        use StatementResult::*;
        assert_eq!([checked(Point, 1, 0, 1, false), checked(Point, 0, 0, 1, true)], [Found, Missed]);
        assert!(matches!(checked(Point, 0, 0, 1, false), Wrong(_)));
        assert!(matches!(checked(Point, 2, 0, 1, true), Wrong(_)));
        assert_eq!([checked(Range, 100, 0, 1, false), checked(Range, 1, 0, 1_000, false)], [Found, Found]);
        assert!(matches!(checked(Range, 99, 0, 1, false), Wrong(_)));
        assert_eq!([checked(Delete, 0, 1, 1, false), checked(Delete, 0, 0, 1, true)], [Found, Missed]);
        assert!(matches!(checked(Insert, 0, 0, 1, true), Wrong(_)));
    }
}
