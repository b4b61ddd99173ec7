//! The prepared statements: their text, the parameters that are drawn for them, and what they must return.

use std::ops::RangeInclusive;

use rand::{Rng, RngExt};
use wire::Parameter;

use super::reply::Reply;
use super::row::{C_BYTES, Row};

/// So many rows a range query asks for, as sysbench does unless told otherwise.
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
    /// A row with a number of its own.
    PutBack,
    /// A row that the database numbers.
    Insert,
}

/// What a statement was sent with, as far as its reply depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    pub table: u32,
    /// The row, or the first of a range.
    pub id: u32,
}

/// Whether a statement has done what it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It has found what it asked for.
    Found,
    /// The row was not there, and need not be.
    Missed,
    /// It returned something else.
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

    /// Gives the parameters for the row `id` to `send`; what else is needed is drawn, `k` from `1..=rows`.
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
            Self::NonIndexUpdate => send(&[Parameter::Text(&Row::draw(rng).c), number(id)]),
            Self::PutBack | Self::Insert => {
                let k = number(rng.random_range(1..=rows));
                let row = Row::draw(rng);
                let values = [number(id), k, Parameter::Text(&row.c), Parameter::Text(&row.pad)];
                send(if self == Self::Insert { &values[1..] } else { &values })
            }
        }
    }

    /// Holds a reply against what was sent. `rows` are those of the table; with `gaps` any may be missing.
    /// With `moving` rows are taken out and put back by others, which a write may run into.
    pub fn check(self, reply: &Reply, sent: Sent, rows: u32, gaps: bool, moving: bool) -> Verdict {
        let is_value = reply.first.len() >= C_BYTES;
        match self {
            Self::Point if reply.rows == 1 && is_value => Verdict::Found,
            Self::Point if reply.rows == 0 && gaps => Verdict::Missed,
            Self::Point => Verdict::Wrong("a point select that does not return its one row"),
            Self::Range | Self::Order | Self::Distinct => {
                let whole = RANGE_ROWS.min(rows - sent.id + 1);
                let expected: RangeInclusive<u32> = match (gaps, self) {
                    // Rows that were put in stand after all others.
                    (true, _) => 0..=RANGE_ROWS,
                    // Two rows may have been given the same text.
                    (false, Self::Distinct) => 1..=RANGE_ROWS,
                    (false, _) => whole..=if sent.id + RANGE_ROWS > rows { RANGE_ROWS } else { whole },
                };
                if expected.contains(&reply.rows) && (is_value || reply.rows == 0) {
                    Verdict::Found
                } else {
                    Verdict::Wrong("a range that does not return its rows")
                }
            }
            Self::Sum if reply.rows == 1 => Verdict::Found,
            Self::Sum => Verdict::Wrong("a sum that is not one row"),
            Self::IndexUpdate | Self::NonIndexUpdate | Self::Delete => match reply.affected {
                1 => Verdict::Found,
                0 if gaps || moving => Verdict::Missed,
                _ => Verdict::Wrong("a write that does not change its one row"),
            },
            Self::PutBack | Self::Insert if reply.affected == 1 => Verdict::Found,
            Self::PutBack | Self::Insert => Verdict::Wrong("an insert that does not put in its one row"),
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

    fn checked(statement: Statement, rows: u32, affected: u64, id: u32, gaps: bool) -> Verdict {
        let reply = Reply { rows, affected, first: vec![b'5'; C_BYTES], ..Reply::default() };
        statement.check(&reply, Sent { table: 0, id }, 1_000, gaps, false)
    }

    #[test]
    fn replies_are_counted() {
        use Statement::*;
        use Verdict::*;
        assert_eq!([checked(Point, 1, 0, 1, false), checked(Point, 0, 0, 1, true)], [Found, Missed]);
        assert!(matches!(checked(Point, 0, 0, 1, false), Wrong(_)));
        assert!(matches!(checked(Point, 2, 0, 1, true), Wrong(_)));
        assert_eq!([checked(Range, 100, 0, 1, false), checked(Range, 1, 0, 1_000, false)], [Found, Found]);
        assert!(matches!(checked(Range, 99, 0, 1, false), Wrong(_)));
        assert_eq!([checked(Delete, 0, 1, 1, false), checked(Delete, 0, 0, 1, true)], [Found, Missed]);
        assert!(matches!(checked(Insert, 0, 0, 1, true), Wrong(_)));
    }
}
