//! The pages of an admin: accounts, secrets of controllers, the audit.

use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Form, Json};
use serde::Deserialize;
use serde_json::json;

use super::login::new_hash;
use super::pages::{Page, shown};
use super::site::Shared;
use crate::people::{Person, Role};
use crate::service::error::ServiceError;
use crate::service::people::{self, AUDIT_PAGE};
use crate::store::AuditLine;

/// `GET /people`
pub async fn page(State(site): State<Shared>) -> Page {
    with_secret(&site, None).await
}

/// The page, with a new secret that is shown once.
async fn with_secret(site: &Shared, secret: Option<(String, String)>) -> Page {
    let (accounts, controllers) = shown(site, site.harness.people().await)?;
    let mut shown_accounts = Vec::new();
    for account in accounts {
        shown_accounts
            .push(json!({ "name": account.name, "role": account.role, "unix_ms": account.unix_ms }));
    }
    let roles = Role::ALL.map(Role::name);
    let context =
        json!({ "accounts": shown_accounts, "controllers": controllers, "roles": roles, "secret": secret });
    Ok(site.pages.page("people.html", &context))
}

/// A new account, or a change of one.
#[derive(Deserialize)]
pub struct AccountForm {
    #[serde(default)]
    name: String,
    #[serde(default)]
    role: String,
    #[serde(default)]
    password: String,
}

fn role_of(text: &str) -> Result<Role, ServiceError> {
    Role::from_name(text).ok_or_else(|| ServiceError::Bad(format!("there is no role {text:?}")))
}

fn back() -> Response {
    Redirect::to("/people").into_response()
}

/// `POST /people`
pub async fn add(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Form(form): Form<AccountForm>,
) -> Page {
    let role = shown(&site, role_of(&form.role))?;
    let hash = shown(&site, new_hash(&site, form.password).await)?;
    let name = form.name.trim().to_owned();
    let added =
        site.harness.store().transact(move |rows| people::add_account(rows, &name, role, hash, &person.name));
    shown(&site, added.await)?;
    Ok(back())
}

/// `POST /people/NAME/role`
pub async fn change_role(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Path(name): Path<String>,
    Form(form): Form<AccountForm>,
) -> Page {
    let role = shown(&site, role_of(&form.role))?;
    if person.has_account && person.name == name {
        let own = "another admin changes your role: so there is always one left";
        return shown(&site, Err(ServiceError::Forbidden(own.to_owned())));
    }
    let changed =
        site.harness.store().transact(move |rows| people::set_role(rows, &name, role, &person.name));
    shown(&site, changed.await)?;
    Ok(back())
}

/// `POST /people/NAME/password`
pub async fn set_password(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Path(name): Path<String>,
    Form(form): Form<AccountForm>,
) -> Page {
    let hash = shown(&site, new_hash(&site, form.password).await)?;
    let changed =
        site.harness.store().transact(move |rows| people::set_password(rows, &name, hash, &person.name));
    shown(&site, changed.await)?;
    Ok(back())
}

/// `POST /people/controllers`
pub async fn new_controller(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Form(form): Form<AccountForm>,
) -> Page {
    let name = form.name.trim().to_owned();
    let secret = shown(&site, site.harness.new_controller_secret(name.clone(), person.name).await)?;
    with_secret(&site, Some((name, secret))).await
}

/// `POST /people/controllers/NAME/remove`
pub async fn remove_controller(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Path(name): Path<String>,
) -> Page {
    shown(&site, site.harness.remove_controller_secret(name, person.name).await)?;
    Ok(back())
}

/// The lines with a lower number.
#[derive(Deserialize)]
pub struct AuditQuery {
    before: Option<u64>,
}

/// `GET /audit`
pub async fn audit(State(site): State<Shared>, Query(query): Query<AuditQuery>) -> Page {
    let lines = shown(&site, site.harness.audits(query.before).await)?;
    let is_full = lines.len() as u32 == AUDIT_PAGE;
    let older = if is_full { lines.last().map(|line| line.id) } else { None };
    Ok(site.pages.page("audit.html", &json!({ "lines": lines, "older": older })))
}

/// `GET audit`
pub async fn audit_lines(
    State(site): State<Shared>,
    Query(query): Query<AuditQuery>,
) -> Result<Json<Vec<AuditLine>>, ServiceError> {
    Ok(Json(site.harness.audits(query.before).await?))
}
