//! Accounts from a terminal: the first admin of a team, and the way back for one who has lost a password. The password comes from the
//! terminal or from a file, never from an argument.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use anyhow::Context;

use super::database::DatabaseArgs;
use super::person_here;
use crate::people::{Role, hash};
use crate::service::error::ServiceError;
use crate::service::people::{add_account, set_password, set_role};
use crate::store::Database;

/// Options of `showdown account`.
#[derive(clap::Args, Debug)]
pub struct AccountArgs {
    #[command(subcommand)]
    verb: AccountVerb,
}

#[derive(clap::Subcommand, Debug)]
enum AccountVerb {
    /// Add an account
    Add {
        /// Its name
        name: String,
        /// What the person may do
        #[arg(long, value_enum, default_value = "submitter")]
        role: Role,
        #[command(flatten)]
        password: PasswordArgs,
        #[command(flatten)]
        kept: DatabaseArgs,
    },
    /// Change the role of an account; `closed` ends its sessions and secrets
    Role {
        /// Its name
        name: String,
        /// What the person may do
        #[arg(value_enum)]
        role: Role,
        #[command(flatten)]
        kept: DatabaseArgs,
    },
    /// Set a new password, which ends the sessions and secrets of the account
    Password {
        /// Its name
        name: String,
        #[command(flatten)]
        password: PasswordArgs,
        #[command(flatten)]
        kept: DatabaseArgs,
    },
    /// List accounts
    List {
        #[command(flatten)]
        kept: DatabaseArgs,
    },
}

#[derive(clap::Args, Debug)]
struct PasswordArgs {
    /// Read the password from the first line of this file [default: the terminal asks]
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

impl PasswordArgs {
    fn read(&self) -> anyhow::Result<String> {
        if let Some(path) = &self.password_file {
            let text =
                std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            return Ok(text.lines().next().unwrap_or_default().to_owned());
        }
        anyhow::ensure!(
            std::io::stdin().is_terminal(),
            "there is no terminal to ask for the password: pass --password-file FILE"
        );
        let password = rpassword::prompt_password("Password: ")?;
        anyhow::ensure!(
            rpassword::prompt_password("The same again: ")? == password,
            "they differ: try again"
        );
        Ok(password)
    }
}

/// Does what is asked.
pub fn account(args: &AccountArgs) -> anyhow::Result<()> {
    let by = format!("{} on a terminal", person_here());
    match &args.verb {
        AccountVerb::Add { name, role, password, kept } => {
            let hash = hash(&password.read()?)?;
            kept.open()?.transact(|rows| add_account(rows, name, *role, hash, &by))?;
        }
        AccountVerb::Role { name, role, kept } => {
            kept.open()?.transact(|rows| set_role(rows, name, *role, &by))?;
        }
        AccountVerb::Password { name, password, kept } => {
            let hash = hash(&password.read()?)?;
            kept.open()?.transact(|rows| set_password(rows, name, hash, &by))?;
        }
        AccountVerb::List { kept } => {
            let accounts = kept.open()?.transact(|rows| Ok::<_, ServiceError>(rows.accounts()?))?;
            for account in accounts {
                // The reader may have gone.
                let _ = writeln!(std::io::stdout(), "{}\t{}", account.name, account.role);
            }
        }
    }
    Ok(())
}
