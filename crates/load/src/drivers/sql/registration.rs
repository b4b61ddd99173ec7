//! The registration of MySQL's and PostgreSQL's protocols, and their mix as a workload and the command line describe it.

use std::marker::PhantomData;

use serde::Deserialize;

use super::mysql::MysqlSession;
use super::populate_driver::PopulateDriver;
use super::postgres::PostgresSession;
use super::query::query;
use super::session::SqlSession;
use super::spec::{SqlSpec, SqlWork, Tables};
use super::transaction::Transaction;
use super::transaction_driver::{COUNTERS, TransactionDriver};
use crate::drivers::database_login::DatabaseLogin;
use crate::drivers::error::OperationError;
use crate::drivers::mix::{Mix, MixSection};
use crate::drivers::mix_file;
use crate::drivers::options::{
    DriverOption, GivenOptions, KEY_SKEW, OptionError, OptionValueError, POPULATE, check_count, parses,
};
use crate::drivers::password::{ALLOW_CLEARTEXT, PasswordSource};
use crate::drivers::protocol::{
    DriverNames, DriverUse, Protocol, ServerAccess, SqlQuery, UrlPath, UrlScheme, WorkerShare,
};
use crate::inputs::keys::Popularity;
use crate::inputs::units::parse_count;

/// The defaults of sysbench.
const DEFAULT_TABLES: u32 = 1;
const DEFAULT_ROWS: u32 = 10_000;

/// Transactions with their weights, and the tables.
#[derive(Clone, Debug, PartialEq)]
pub struct TableMix {
    /// Transactions with their weights.
    pub transactions: Vec<(Transaction, f64)>,
    /// The tables.
    pub tables: Tables,
}

/// `[load.tables]` of a workload.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TablesSection {
    /// Number of tables.
    pub tables: u32,
    /// Rows of each.
    pub rows: u32,
    /// How often each row is used.
    #[serde(default)]
    pub popularity: Popularity,
}

/// One operation of a mix.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionOperation {
    /// The transaction.
    pub transaction: Transaction,
    /// Its share of the mix, relative to the others.
    #[serde(default = "one")]
    pub weight: f64,
}

fn one() -> f64 {
    1.0
}

const HEADING: &str = "SQL";
const TRANSACTION: DriverOption = DriverOption::with_value(
    "transaction",
    "NAME",
    parses::<Transaction>,
    HEADING,
    "Run this transaction of sysbench: point-select, read-only, read-write, update-index, update-non-index, \
     insert, delete or write-only [default: point-select]",
)
.of_operation();
const TABLES: DriverOption = DriverOption::with_value(
    "tables",
    "TABLES",
    check_number,
    HEADING,
    "Use this number of tables [default: 1]",
);
const ROWS: DriverOption = DriverOption::with_value(
    "rows",
    "ROWS",
    check_number,
    HEADING,
    "Use this number of rows in each table [default: 10k]",
);

fn check_number(text: &str) -> Result<(), OptionValueError> {
    check_count(text).and_then(|()| parse_number(text).map(drop))
}

fn parse_number(text: &str) -> Result<u32, OptionValueError> {
    let count = parse_count(text).map_err(OptionValueError::new)?;
    u32::try_from(count).map_err(|_| OptionValueError::new("at most 4 billion"))
}

impl TableMix {
    fn new(transactions: Vec<(Transaction, f64)>, tables: u32, rows: u32, popularity: Popularity) -> Self {
        // Also if only one of the operations is carried out later: the check before a load carries out each.
        let gaps = transactions.iter().any(|(transaction, _)| *transaction == Transaction::Delete);
        Self { transactions, tables: Tables { tables, rows, popularity, gaps, seed: 0 } }
    }
}

impl Mix for TableMix {
    type Operation = TransactionOperation;
    type Section = TablesSection;
    const SECTION: Option<MixSection> =
        Some(MixSection { name: "tables", missing: "a database needs [load.tables] with tables and rows" });
    const OPTIONS: &'static [DriverOption] = &[KEY_SKEW, POPULATE, TRANSACTION, TABLES, ROWS];

    fn of_workload(section: TablesSection, operations: Vec<TransactionOperation>) -> Self {
        Self::new(transactions(operations), section.tables, section.rows, section.popularity)
    }

    fn of_options(given: &GivenOptions) -> Result<Self, OptionError> {
        let transactions = match &given.mix_file {
            Some(path) => transactions(mix_file::read(path, Self::check_operation)?),
            None => vec![(given.value(&TRANSACTION)?.unwrap_or(Transaction::PointSelect), 1.0)],
        };
        Ok(Self::new(
            transactions,
            given.value_by(&TABLES, parse_number)?.unwrap_or(DEFAULT_TABLES),
            given.value_by(&ROWS, parse_number)?.unwrap_or(DEFAULT_ROWS),
            given.value(&KEY_SKEW)?.unwrap_or_default(),
        ))
    }

    fn only(&self, at: usize) -> Self {
        Self { transactions: vec![(self.transactions[at].0, 1.0)], ..self.clone() }
    }
}

fn transactions(operations: Vec<TransactionOperation>) -> Vec<(Transaction, f64)> {
    operations.into_iter().map(|operation| (operation.transaction, operation.weight)).collect()
}

/// What a protocol of a database adds to the registration that all share.
pub trait Database: 'static {
    /// Its session.
    type Session: SqlSession + Send + 'static;
    /// See [`Protocol::NAME`].
    const NAME: &'static str;
    /// See [`Protocol::SCHEMES`].
    const SCHEMES: &'static [UrlScheme];
    /// See [`Protocol::OPTIONS`].
    const OPTIONS: &'static [DriverOption];
}

/// MySQL's and MariaDB's part.
#[derive(Debug)]
pub struct MysqlDatabase;

/// PostgreSQL's part.
#[derive(Debug)]
pub struct PostgresDatabase;

impl Database for MysqlDatabase {
    type Session = MysqlSession;
    const NAME: &'static str = "mysql";
    const SCHEMES: &'static [UrlScheme] =
        &[UrlScheme { names: &["mysql", "mariadb"], port: 3_306, is_tls: false }];
    /// The password is never sent, whatever the server asks for.
    const OPTIONS: &'static [DriverOption] = &[];
}

impl Database for PostgresDatabase {
    type Session = PostgresSession;
    const NAME: &'static str = "postgres";
    const SCHEMES: &'static [UrlScheme] =
        &[UrlScheme { names: &["postgres", "postgresql"], port: 5_432, is_tls: false }];
    const OPTIONS: &'static [DriverOption] = &[ALLOW_CLEARTEXT];
}

/// The registration of a database.
#[derive(Debug)]
pub struct Sql<D>(PhantomData<D>);

/// The protocol of MySQL and MariaDB.
pub type Mysql = Sql<MysqlDatabase>;

/// The protocol of PostgreSQL.
pub type Postgres = Sql<PostgresDatabase>;

impl<D: Database> Protocol for Sql<D> {
    type Spec = SqlSpec;
    type Mix = TableMix;

    const NAME: &'static str = D::NAME;
    const CODEC: Option<&'static str> = Some(D::NAME);
    const SCHEMES: &'static [UrlScheme] = D::SCHEMES;
    const URL_PATH: UrlPath = UrlPath::Account;
    const PASSWORD_VARIABLE: Option<&'static str> = Some(D::Session::PASSWORD_VARIABLE);
    const SQL_QUERY: Option<SqlQuery> = Some(query::<D::Session>);
    const OPTIONS: &'static [DriverOption] = D::OPTIONS;

    fn apply_options(spec: &mut SqlSpec, given: &GivenOptions) -> Result<(), OptionError> {
        spec.login.allow_cleartext = given.has(&ALLOW_CLEARTEXT);
        Ok(())
    }

    fn password(spec: &mut SqlSpec) -> Option<&mut PasswordSource> {
        spec.login.password.as_mut()
    }

    fn spec(mix: TableMix, access: &ServerAccess) -> SqlSpec {
        SqlSpec {
            login: DatabaseLogin {
                user: access.user.clone(),
                database: access.database.clone(),
                password: access.password.clone(),
                allow_cleartext: access.may_send_cleartext,
            },
            tables: Tables { seed: access.seed, ..mix.tables },
            work: SqlWork::Transactions(mix.transactions),
        }
    }

    fn drive<U: DriverUse>(spec: &SqlSpec, share: WorkerShare, user: U) -> Result<U::Output, OperationError> {
        Ok(match &spec.work {
            SqlWork::Transactions(_) => user.driver(TransactionDriver::<D::Session>::new(spec, share)?),
            SqlWork::Populate(stage) => user.driver(PopulateDriver::<D::Session>::new(spec, *stage, share)?),
        })
    }

    fn names(spec: &SqlSpec) -> Result<DriverNames, OperationError> {
        spec.check()?;
        Ok((spec.operations(), if let SqlWork::Transactions(_) = spec.work { COUNTERS } else { &[] }))
    }

    fn populate(spec: &SqlSpec) -> Vec<(SqlSpec, u64)> {
        spec.populate()
    }
}
