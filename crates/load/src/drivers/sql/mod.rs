//! MySQL, MariaDB and PostgreSQL: the transactions of sysbench over its tables, with prepared statements.
//!
//! The statements of a transaction, and what they must return, are the same for all databases and written once; a
//! [`SqlSession`](session::SqlSession) knows one protocol. The server may abort a transaction in favour of others: after
//! deadlocks, time-outs of locks, serialization failures, and duplicates of a row that another transaction has put back.
//! Such a transaction is rolled back and begun again with other rows, as sysbench does, and each is counted.
//!
//! | file | what it holds |
//! |---|---|
//! | [`spec`](SqlSpec) | tables and transactions as plain data |
//! | `transaction`, `statement`, `row` | which statements make a transaction, and what their rows contain |
//! | `dialect` | where the SQL of the databases differs |
//! | `session`, `mysql`, `postgres` | one connection; its protocol |
//! | `transaction_driver`, `populate_driver` | the drivers |
//! | `query` | one statement outside a load |
//! | `registration` | the registration of both protocols |

mod dialect;
mod mysql;
mod populate_driver;
mod postgres;
mod query;
mod registration;
mod reply;
mod row;
mod session;
mod spec;
mod statement;
mod transaction;
mod transaction_driver;

pub use registration::{Mysql, Postgres, TableMix};
pub use spec::{PopulateStage, SqlSpec, SqlWork, Tables};
pub use transaction::Transaction;
