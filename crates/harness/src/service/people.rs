//! Accounts, the secrets of programs, and the audit: what an admin does, and what each person does with their own account.

use super::Harness;
use super::error::ServiceError;
use crate::people::{Account, Role, checked_name};
use crate::secrets::{digest, new_secret, unix_ms};
use crate::store::{AuditLine, SecretKind, StoreError, Transaction};

/// Lines on a page of the audit.
pub const AUDIT_PAGE: u32 = 100;

/// How long the secret of a person's program is valid: 90 days, in milliseconds. A controller's is valid until an admin removes it.
const TOKEN_MS: u64 = 90 * 24 * 3600 * 1000;

/// Makes an account; one that is there is refused.
pub fn add_account(
    rows: &mut dyn Transaction,
    name: &str,
    role: Role,
    hash: String,
    by: &str,
) -> Result<(), ServiceError> {
    let name = checked_name(name)?.to_owned();
    if rows.account(&name)?.is_some() {
        return Err(ServiceError::Bad(format!(
            "there is an account {name} already: change its role or password"
        )));
    }
    rows.audit(unix_ms(), by, &format!("add account {name}: {role}"))?;
    Ok(rows.put_account(&Account { name, role, hash, unix_ms: unix_ms() })?)
}

/// Changes the role of an account: at once, also for who is logged in.
pub fn set_role(rows: &mut dyn Transaction, name: &str, role: Role, by: &str) -> Result<(), ServiceError> {
    let account = known(rows, name)?;
    if role == Role::Closed {
        forget(rows, name)?;
    }
    rows.audit(unix_ms(), by, &format!("account {name}: {role} in place of {}", account.role))?;
    Ok(rows.put_account(&Account { role, ..account })?)
}

/// Changes the password of an account, and ends all of its sessions and secrets.
pub fn set_password(
    rows: &mut dyn Transaction,
    name: &str,
    hash: String,
    by: &str,
) -> Result<(), ServiceError> {
    let account = known(rows, name)?;
    forget(rows, name)?;
    rows.audit(unix_ms(), by, &format!("account {name}: new password"))?;
    Ok(rows.put_account(&Account { hash, ..account })?)
}

fn known(rows: &mut dyn Transaction, name: &str) -> Result<Account, ServiceError> {
    rows.account(name)?.ok_or_else(|| ServiceError::NotFound(format!("there is no account {name:?}")))
}

fn forget(rows: &mut dyn Transaction, name: &str) -> Result<(), StoreError> {
    rows.remove_secrets(SecretKind::Login, name)?;
    rows.remove_secrets(SecretKind::Token, name)?;
    Ok(())
}

impl Harness {
    /// All accounts, and the names of the secrets of controllers.
    pub async fn people(&self) -> Result<(Vec<Account>, Vec<String>), ServiceError> {
        self.store()
            .transact(|rows| Ok((rows.accounts()?, rows.names_of_secrets(SecretKind::Controller)?)))
            .await
    }

    /// The hash of the password of an account that is not closed.
    pub async fn hash_of(&self, name: String) -> Result<Option<String>, ServiceError> {
        let account = self.store().transact(move |rows| Ok::<_, ServiceError>(rows.account(&name)?)).await?;
        Ok(account.filter(|account| account.role != Role::Closed).map(|account| account.hash))
    }

    /// A new secret for the programs of a person, in place of the earlier one.
    pub async fn new_token(&self, account: String) -> Result<String, ServiceError> {
        let secret = new_secret();
        let digested = digest(&secret);
        self.store()
            .transact(move |rows| {
                rows.remove_secrets(SecretKind::Token, &account)?;
                rows.put_secret(&digested, SecretKind::Token, &account, unix_ms() + TOKEN_MS)?;
                Ok::<_, ServiceError>(rows.audit(unix_ms(), &account, "new secret for own programs")?)
            })
            .await?;
        Ok(secret)
    }

    /// Ends the secret of the programs of a person.
    pub async fn remove_token(&self, account: String) -> Result<(), ServiceError> {
        self.store()
            .transact(move |rows| {
                rows.remove_secrets(SecretKind::Token, &account)?;
                Ok(rows.audit(unix_ms(), &account, "remove the secret for own programs")?)
            })
            .await
    }

    /// A new secret for a controller, in place of the earlier one of this name.
    pub async fn new_controller_secret(&self, name: String, by: String) -> Result<String, ServiceError> {
        checked_name(&name)?;
        let secret = new_secret();
        let digested = digest(&secret);
        self.store()
            .transact(move |rows| {
                rows.remove_secrets(SecretKind::Controller, &name)?;
                // A number of the database has a sign.
                rows.put_secret(&digested, SecretKind::Controller, &name, i64::MAX as u64)?;
                Ok::<_, ServiceError>(rows.audit(
                    unix_ms(),
                    &by,
                    &format!("new secret of controller {name}"),
                )?)
            })
            .await?;
        Ok(secret)
    }

    /// Ends the secret of a controller.
    pub async fn remove_controller_secret(&self, name: String, by: String) -> Result<(), ServiceError> {
        self.store()
            .transact(move |rows| {
                if rows.remove_secrets(SecretKind::Controller, &name)? == 0 {
                    return Err(ServiceError::NotFound(format!("no controller has a secret {name:?}")));
                }
                Ok(rows.audit(unix_ms(), &by, &format!("remove the secret of controller {name}"))?)
            })
            .await
    }

    /// What was done, the newest first.
    pub async fn audits(&self, before: Option<u64>) -> Result<Vec<AuditLine>, ServiceError> {
        self.store().transact(move |rows| Ok(rows.audits(before, AUDIT_PAGE)?)).await
    }
}
