//! The options of `showdown load` for a database.

use load::drivers::password::PasswordSource;
use load::drivers::sql::{Login, SqlSpec, Tables, Transaction, Work};
use load::inputs::target::Target;
use load::mix;

use super::args::LoadArgs;
use crate::exit::usage;

/// The default of sysbench.
const TABLES: u64 = 1;
const ROWS: u64 = 10_000;

/// The transactions of a load. `variable` names the environment variable that may contain the password.
pub fn spec(args: &LoadArgs, target: &Target, variable: &str, seed: u64) -> anyhow::Result<SqlSpec> {
    let database = target.path_and_query.trim_start_matches('/');
    let (Some(user), false) = (&target.user, database.is_empty() || database.contains(['/', '?'])) else {
        return Err(usage(
            "the URL of a database needs a user and a database: write mysql://me@127.0.0.1/test",
        ));
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
