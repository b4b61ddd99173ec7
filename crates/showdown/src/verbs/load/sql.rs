//! From options to what is asked of a database.

use load::drivers::password::PasswordSource;
use load::drivers::sql::{Login, SqlSpec, Tables, Transaction, Work};
use load::inputs::target::Target;
use load::mix;

use super::args::Args;
use crate::exit::usage;

/// As sysbench has it, if nothing is said.
const TABLES: u64 = 1;
const ROWS: u64 = 10_000;

/// What is asked of the database of a URL, whose password is in the variable, if that is set.
pub fn spec(args: &Args, target: &Target, variable: &str, seed: u64) -> anyhow::Result<SqlSpec> {
    let database = target.path_and_query.trim_start_matches('/');
    let (Some(user), false) = (&target.user, database.is_empty() || database.contains(['/', '?'])) else {
        return Err(usage("the URL of a database names a user and a database: mysql://me@127.0.0.1/test"));
    };
    let mix = match &args.ops {
        Some(path) => mix::read_transactions(path).map_err(usage)?,
        None => vec![(args.transaction.unwrap_or(Transaction::PointSelect), 1.0)],
    };
    let number = |given: Option<u64>, default: u64, option: &str| {
        let most = || usage(format!("{option}: at most 2 billion"));
        u32::try_from(given.unwrap_or(default)).map_err(|_| most())
    };
    let is_set = std::env::var_os(variable).is_some();
    Ok(SqlSpec {
        login: Login {
            user: user.clone(),
            database: database.to_owned(),
            password: is_set.then(|| PasswordSource::Environment(variable.to_owned())),
        },
        tables: Tables {
            tables: number(args.tables, TABLES, "--tables")?,
            rows: number(args.rows, ROWS, "--rows")?,
            popularity: args.key_skew.unwrap_or_default(),
            gaps: mix.iter().any(|(kind, _)| *kind == Transaction::Delete),
            seed,
        },
        work: Work::Transactions(mix),
    })
}
