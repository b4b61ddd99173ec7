//! Visitors log in and out.

use std::collections::HashMap;

use askama::Template;
use axum::Form;
use axum::extract::State;
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse};
use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use serde::Deserialize;

use super::form::field;
use super::replies::{Problem, Reply};
use super::shared::Shared;
use super::visitor::{COOKIE_NAME, Frame, Visitor, changing_visitor, end};
use crate::data::password_hash;

#[derive(Template)]
#[template(path = "login.html")]
struct Page {
    frame: Frame,
}

/// The token of a form that has nothing else.
#[derive(Deserialize)]
pub struct Confirmation {
    #[serde(default)]
    pub token: String,
}

pub async fn log_in(State(site): Shared, Form(fields): Form<HashMap<String, String>>) -> Reply {
    let mut connection = site.connection().await?;
    let found: Option<(u32, String, String)> = connection
        .exec_first("SELECT id, salt, password FROM person WHERE username = ?", (field(&fields, "username"),))
        .await?;
    if let Some((id, salt, hash)) = found
        && password_hash(&salt, field(&fields, "password")) == hash
    {
        let requests = count_requests(&mut connection, id).await?;
        let visitor = Visitor::new(id, field(&fields, "username").to_owned(), requests);
        visitor.save(&site).await;
        let cookie = format!("{COOKIE_NAME}={}; Path=/; HttpOnly; SameSite=Lax", visitor.session);
        return Ok(
            (StatusCode::SEE_OTHER, [(LOCATION, "/".to_owned()), (SET_COOKIE, cookie)]).into_response()
        );
    }
    let page = Page { frame: Frame::anonymous() }.render()?;
    Ok((StatusCode::UNAUTHORIZED, Html(page)).into_response())
}

/// Requests for friendship that wait for the person's answer.
pub async fn count_requests(connection: &mut Conn, person: u32) -> Result<u64, Problem> {
    let statement = "SELECT COUNT(*) FROM friendship WHERE to_id = ? AND accepted = 0";
    Ok(connection.exec_first(statement, (person,)).await?.unwrap_or(0))
}

pub async fn log_out(State(site): Shared, headers: HeaderMap, Form(form): Form<Confirmation>) -> Reply {
    let visitor = changing_visitor(&site, &headers, &form.token).await?;
    end(&site, &visitor).await;
    let cookie = format!("{COOKIE_NAME}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax");
    Ok((StatusCode::SEE_OTHER, [(LOCATION, "/".to_owned()), (SET_COOKIE, cookie)]).into_response())
}
