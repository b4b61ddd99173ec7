//! Accounts from a terminal: the first admin of a team, and the way back for one who has lost a password. The password comes from the
//! terminal or from a file, never from an argument.

use std::io::{IsTerminal, Write};

use anyhow::Context;
use queue::arguments::{AccountArgs, AccountVerb, PasswordArgs};

use super::database::open;
use super::person_here;
use crate::people::hash;
use crate::service::error::ServiceError;
use crate::service::people::{add_account, set_password, set_role};
use crate::store::Database;

fn read(from: &PasswordArgs) -> anyhow::Result<String> {
    if let Some(path) = &from.password_file {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        return Ok(text.lines().next().unwrap_or_default().to_owned());
    }
    anyhow::ensure!(
        std::io::stdin().is_terminal(),
        "there is no terminal to ask for the password: pass --password-file FILE"
    );
    let password = rpassword::prompt_password("Password: ")?;
    anyhow::ensure!(rpassword::prompt_password("The same again: ")? == password, "they differ: try again");
    Ok(password)
}

/// Does what is asked.
pub fn account(args: &AccountArgs) -> anyhow::Result<()> {
    let by = format!("{} on a terminal", person_here());
    match &args.verb {
        AccountVerb::Add { name, role, password, kept } => {
            let hash = hash(&read(password)?)?;
            open(kept)?.transact(|rows| add_account(rows, name, *role, hash, &by))?;
        }
        AccountVerb::Role { name, role, kept } => {
            open(kept)?.transact(|rows| set_role(rows, name, *role, &by))?;
        }
        AccountVerb::Password { name, password, kept } => {
            let hash = hash(&read(password)?)?;
            open(kept)?.transact(|rows| set_password(rows, name, hash, &by))?;
        }
        AccountVerb::List { kept } => {
            let accounts = open(kept)?.transact(|rows| Ok::<_, ServiceError>(rows.accounts()?))?;
            for account in accounts {
                // The reader may have gone.
                let _ = writeln!(std::io::stdout(), "{}\t{}", account.name, account.role);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_the_first_line_of_its_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "correct horse battery\nstaple\n").unwrap();
        let from = PasswordArgs { password_file: Some(file.path().to_owned()) };
        assert_eq!(read(&from).unwrap(), "correct horse battery");
        let missing = PasswordArgs { password_file: Some("/nowhere/password".into()) };
        assert!(read(&missing).unwrap_err().to_string().contains("cannot read /nowhere/password"));
    }
}
