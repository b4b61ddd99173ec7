//! Tables and what is done with them, as plain data.

use serde::{Deserialize, Serialize};

use super::transaction::Transaction;
use crate::drivers::choice::WeightedChoice;
use crate::drivers::database_login::DatabaseLogin;
use crate::drivers::error::OperationError;
use crate::inputs::keys::Popularity;

/// A mix of transactions, and the login.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SqlSpec {
    /// User and database.
    pub login: DatabaseLogin,
    /// The tables.
    pub tables: Tables,
    /// What is done with them.
    pub work: SqlWork,
}

/// The tables, which are all alike: `sbtest1`, `sbtest2`, …
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tables {
    /// Number of tables.
    pub tables: u32,
    /// Rows of each.
    pub rows: u32,
    /// How often each row is used; all tables are equally likely.
    #[serde(default)]
    pub popularity: Popularity,
    /// Whether rows may be missing because the mix deletes them. A missing row is then counted and is no error.
    #[serde(default)]
    pub gaps: bool,
    /// The rows follow from it.
    #[serde(default)]
    pub seed: u64,
}

/// What is done with the tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SqlWork {
    /// Transactions and their weights.
    Transactions(Vec<(Transaction, f64)>),
    /// One stage of a populate run.
    Populate(PopulateStage),
}

impl Tables {
    /// Refuses numbers that no table can have.
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
pub(super) fn table_name(table: u32) -> String {
    format!("sbtest{}", table + 1)
}

impl SqlSpec {
    /// Names of the operations in the order of their ids.
    pub(super) fn operations(&self) -> Vec<String> {
        match &self.work {
            SqlWork::Transactions(mix) => mix.iter().map(|(kind, _)| kind.name().to_owned()).collect(),
            SqlWork::Populate(stage) => vec![stage.name().to_owned()],
        }
    }

    /// Checks everything that a user may have written.
    pub(super) fn check(&self) -> Result<(), OperationError> {
        self.tables.check()?;
        if let SqlWork::Transactions(mix) = &self.work {
            let weights: Vec<f64> = mix.iter().map(|(_, weight)| *weight).collect();
            WeightedChoice::new(&weights)?;
        }
        Ok(())
    }

    /// The stages of a populate run in their order, each with its number of operations.
    pub(super) fn populate(&self) -> Vec<(Self, u64)> {
        PopulateStage::ALL
            .iter()
            .map(|&stage| {
                (Self { work: SqlWork::Populate(stage), ..self.clone() }, stage.operations(&self.tables))
            })
            .collect()
    }
}

/// Rows of one insert: a fifth of a megabyte, which all servers accept.
pub(super) const BATCH_ROWS: u32 = 1_000;

/// The stages of a populate run. An operation of [`Self::Load`] is a batch of rows, one of the others a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PopulateStage {
    /// Creates the tables.
    Create,
    /// Inserts the rows.
    Load,
    /// Creates the index and updates the statistics.
    Index,
    /// Counts the rows.
    Count,
}

impl PopulateStage {
    /// All stages in their order.
    pub const ALL: [Self; 4] = [Self::Create, Self::Load, Self::Index, Self::Count];

    /// The name of its operations.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Load => "load",
            Self::Index => "index",
            Self::Count => "count",
        }
    }

    /// The number of its operations.
    pub(super) fn operations(self, tables: &Tables) -> u64 {
        let batches = if self == Self::Load { tables.rows.div_ceil(BATCH_ROWS) } else { 1 };
        u64::from(tables.tables) * u64::from(batches)
    }
}

#[cfg(test)]
pub(in crate::drivers) mod tests {
    use super::*;

    /// Two tables of a thousand rows.
    pub fn sample(work: SqlWork) -> SqlSpec {
        SqlSpec {
            login: DatabaseLogin {
                user: "user".to_owned(),
                database: "db".to_owned(),
                password: None,
                allow_cleartext: false,
            },
            tables: Tables { tables: 2, rows: 1_000, popularity: Popularity::Uniform, gaps: false, seed: 1 },
            work,
        }
    }

    #[test]
    fn impossible_tables_are_refused() {
        let spec = sample(SqlWork::Transactions(vec![(Transaction::PointSelect, 1.0)]));
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
    fn a_populate_run_has_four_stages() {
        let spec = sample(SqlWork::Transactions(vec![(Transaction::PointSelect, 1.0)]));
        let stages: Vec<(Vec<String>, u64)> =
            spec.populate().iter().map(|(spec, count)| (spec.operations(), *count)).collect();
        let expected = [("create", 2), ("load", 2), ("index", 2), ("count", 2)];
        assert_eq!(stages, expected.map(|(name, count)| (vec![name.to_owned()], count)));
    }
}
