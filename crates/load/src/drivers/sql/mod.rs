//! MySQL, MariaDB and PostgreSQL: the transactions of sysbench over its tables, with prepared statements.
//!
//! What a transaction consists of, and what its statements must return, is the same for all databases and written
//! once; a [`Session`](session::Session) knows one protocol. Transactions that the server breaks off for the sake
//! of others (deadlocks, time-outs of locks, serialization failures, duplicates of a row that another put back)
//! are rolled back and begun anew with other rows, as sysbench does, and each is counted.

mod dialect;
mod inquiry;
mod login;
mod mysql;
mod populate;
mod postgres;
mod reply;
mod row;
mod session;
mod statement;
mod transaction;
mod transactions;

use serde::{Deserialize, Serialize};

use super::OperationError;
use crate::inputs::keys::Popularity;

pub use inquiry::ask;
pub use login::Login;
pub use transaction::Transaction;

pub(crate) use mysql::MysqlSession;
pub(crate) use populate::PopulateDriver;
pub(super) use populate::{POPULATE, Stage};
pub(crate) use postgres::PostgresSession;
pub(crate) use session::Session;
pub(super) use transactions::COUNTERS;
pub(crate) use transactions::TransactionDriver;

/// A mix of transactions, and who asks for them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SqlSpec {
    /// Who logs in, and where.
    pub login: Login,
    /// On what.
    pub tables: Tables,
    /// What is done.
    pub work: Work,
}

/// The tables, all alike: `sbtest1`, `sbtest2`, …
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tables {
    /// How many tables.
    pub tables: u32,
    /// Rows of each.
    pub rows: u32,
    /// Which rows are asked for how often; tables are equally likely.
    #[serde(default)]
    pub popularity: Popularity,
    /// Rows may be missing, for something deletes them for good: to find none is no error then, but counted.
    #[serde(default)]
    pub gaps: bool,
    /// What the rows follow from.
    #[serde(default)]
    pub seed: u64,
}

/// What is done with the tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Work {
    /// Transactions and their weights.
    Transactions(Vec<(Transaction, f64)>),
    /// One stage of making the tables.
    Populate(Stage),
}

impl Tables {
    /// Refuses what no table can be.
    fn check(&self) -> Result<(), OperationError> {
        let most = i32::MAX as u32;
        match (self.tables, self.rows) {
            (0, _) => Err(OperationError("no tables: give at least one".to_owned())),
            (_, 0) => Err(OperationError("no rows: give at least one".to_owned())),
            (_, rows) if rows > most => Err(OperationError(format!("{rows} rows: a table takes {most}"))),
            _ => Ok(()),
        }
    }
}

/// The name of a table, counted from 0.
fn table_name(table: u32) -> String {
    format!("sbtest{}", table + 1)
}

impl SqlSpec {
    /// Names of the operations in the order of their ids.
    pub(super) fn operations(&self) -> Vec<String> {
        match &self.work {
            Work::Transactions(mix) => mix.iter().map(|(kind, _)| kind.name().to_owned()).collect(),
            Work::Populate(stage) => vec![stage.name().to_owned()],
        }
    }

    /// Names of the counters.
    pub(super) fn counters(&self) -> &'static [&'static str] {
        match &self.work {
            Work::Transactions(_) => COUNTERS,
            Work::Populate(_) => &[],
        }
    }

    /// Refuses what cannot be carried out.
    pub(super) fn check(&self) -> Result<(), OperationError> {
        self.tables.check()?;
        if let Work::Transactions(mix) = &self.work {
            let weights: Vec<f64> = mix.iter().map(|(_, weight)| *weight).collect();
            super::choice::Choice::new(&weights)?;
        }
        Ok(())
    }

    /// What makes the tables, one after the other, with the number of operations of each.
    pub(super) fn populate(&self) -> Vec<(Self, u64)> {
        POPULATE
            .iter()
            .map(|&stage| {
                (Self { work: Work::Populate(stage), ..self.clone() }, stage.operations(&self.tables))
            })
            .collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Two tables of a thousand rows.
    pub fn sample(work: Work) -> SqlSpec {
        SqlSpec {
            login: Login { user: "user".to_owned(), database: "db".to_owned(), password: None },
            tables: Tables { tables: 2, rows: 1_000, popularity: Popularity::Uniform, gaps: false, seed: 1 },
            work,
        }
    }

    #[test]
    fn what_no_table_can_be_is_refused() {
        let spec = sample(Work::Transactions(vec![(Transaction::PointSelect, 1.0)]));
        assert_eq!(spec.check(), Ok(()));
        for tables in [
            Tables { tables: 0, ..spec.tables.clone() },
            Tables { rows: 0, ..spec.tables.clone() },
            Tables { rows: u32::MAX, ..spec.tables.clone() },
        ] {
            assert!(SqlSpec { tables, ..spec.clone() }.check().is_err());
        }
    }

    #[test]
    fn the_tables_are_made_filled_indexed_and_counted() {
        let spec = sample(Work::Transactions(vec![(Transaction::PointSelect, 1.0)]));
        let stages: Vec<(Vec<String>, u64)> =
            spec.populate().iter().map(|(spec, count)| (spec.operations(), *count)).collect();
        let expected = [("create", 2), ("load", 2), ("index", 2), ("count", 2)];
        assert_eq!(stages, expected.map(|(name, count)| (vec![name.to_owned()], count)));
    }
}
