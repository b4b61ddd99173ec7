//! Logging in and out, and what a person does with their own account.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Form};
use serde::Deserialize;
use serde_json::json;

use super::guard::{end_session, open_login};
use super::pages::{Page, shown};
use super::site::{Shared, Site};
use crate::people::{Person, checked_name, hash, is_password};
use crate::service::error::ServiceError;
use crate::service::people;

/// Where to after the login.
#[derive(Deserialize)]
pub struct LoginQuery {
    #[serde(default)]
    to: String,
}

/// A name and a password.
#[derive(Deserialize)]
pub struct LoginForm {
    name: String,
    password: String,
    #[serde(default)]
    to: String,
}

/// `GET /login`
pub async fn page(State(site): State<Shared>, Query(query): Query<LoginQuery>) -> Page {
    Ok(site.pages.page("login.html", &json!({ "to": own_path(&query.to) })))
}

/// A path of this server: nobody is led elsewhere.
fn own_path(to: &str) -> &str {
    let is_own = to.starts_with('/') && !to.starts_with("//") && !to.contains(['\\', '\r', '\n']);
    if is_own { to } else { "/" }
}

/// `POST /login`
pub async fn log_in(
    State(site): State<Shared>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    Form(form): Form<LoginForm>,
) -> Page {
    let LoginForm { name, password, to } = form;
    if !shown(&site, is_right(&site, from, &name, password).await)? {
        let context = json!({ "to": own_path(&to), "name": name, "problem": "Name or password is wrong." });
        return Ok((StatusCode::FORBIDDEN, site.pages.page("login.html", &context)).into_response());
    }
    let cookie = shown(&site, open_login(&site, name).await)?;
    Ok(with_cookie(cookie, own_path(&to)))
}

/// Whether an account has this password. Each try counts, also one for a name that no account has.
async fn is_right(site: &Site, from: SocketAddr, name: &str, password: String) -> Result<bool, ServiceError> {
    // What is no name is nobody's, and is not remembered.
    let name = checked_name(name).unwrap_or("-");
    if !site.logins.admit(name, from.ip()) {
        return Err(ServiceError::TooMany);
    }
    let known = site.harness.hash_of(name.to_owned()).await?;
    Ok(site.logins.slowly(move || is_password(&password, known.as_deref())).await.unwrap_or(false))
}

fn with_cookie(cookie: String, to: &str) -> Response {
    (StatusCode::SEE_OTHER, [(header::SET_COOKIE, cookie), (header::LOCATION, to.to_owned())]).into_response()
}

/// `POST /logout`
pub async fn log_out(State(site): State<Shared>, headers: HeaderMap) -> Page {
    let cookie = shown(&site, end_session(&site, &headers).await)?;
    Ok(with_cookie(cookie, "/login"))
}

/// `GET /account`
pub async fn account(State(site): State<Shared>, Extension(person): Extension<Person>) -> Page {
    Ok(account_page(&site, &person, None))
}

fn account_page(site: &Site, person: &Person, secret: Option<&str>) -> Response {
    let Person { name, role, has_account } = person;
    let context = json!({ "name": name, "role": role, "has_account": has_account, "secret": secret });
    site.pages.page("account.html", &context)
}

/// An old password and a new one.
#[derive(Deserialize)]
pub struct PasswordForm {
    old: String,
    new: String,
}

/// `POST /account/password`: ends all sessions of the account, so that the person logs in again.
pub async fn change_password(
    State(site): State<Shared>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    Extension(person): Extension<Person>,
    Form(form): Form<PasswordForm>,
) -> Page {
    let name = shown(&site, of_account(person))?;
    if !shown(&site, is_right(&site, from, &name, form.old).await)? {
        return shown(&site, Err(ServiceError::Forbidden("the old password is wrong".to_owned())));
    }
    let hashed = shown(&site, new_hash(&site, form.new).await)?;
    let changed = site.harness.store().transact(move |rows| people::set_password(rows, &name, hashed, &name));
    shown(&site, changed.await)?;
    Ok(Redirect::to("/login").into_response())
}

/// The hash of a new password.
pub async fn new_hash(site: &Site, password: String) -> Result<String, ServiceError> {
    let hashed = site.logins.slowly(move || hash(&password)).await;
    Ok(hashed.ok_or_else(|| ServiceError::Bad("the server stops".to_owned()))??)
}

/// The name of the account of who asks.
fn of_account(person: Person) -> Result<String, ServiceError> {
    if person.has_account {
        return Ok(person.name);
    }
    Err(ServiceError::Forbidden(
        "a session of a link has no account: add one on the page of people".to_owned(),
    ))
}

/// `POST /account/secret`: it is shown once.
pub async fn new_secret(State(site): State<Shared>, Extension(person): Extension<Person>) -> Page {
    let name = shown(&site, of_account(person.clone()))?;
    let secret = shown(&site, site.harness.new_token(name).await)?;
    Ok(account_page(&site, &person, Some(&secret)))
}

/// `POST /account/secret/remove`
pub async fn remove_secret(State(site): State<Shared>, Extension(person): Extension<Person>) -> Page {
    let name = shown(&site, of_account(person))?;
    shown(&site, site.harness.remove_token(name).await)?;
    Ok(Redirect::to("/account").into_response())
}

#[cfg(test)]
mod tests {
    use super::own_path;

    #[test]
    fn a_login_leads_to_a_page_of_this_server() {
        assert_eq!(own_path("/runs/x?name=y"), "/runs/x?name=y");
        for other in ["", "https://evil.example", "//evil.example", "/\\evil.example", "/\r\nset-cookie: x"] {
            assert_eq!(own_path(other), "/", "{other:?}");
        }
    }
}
