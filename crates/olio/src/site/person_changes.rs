//! People register, and become friends.

use std::collections::HashMap;

use askama::Template;
use axum::extract::{Multipart, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse};
use mysql_async::prelude::Queryable;
use mysql_async::{Error, Transaction, TxOpts};
use rand::RngExt;

use super::form::{Checks, Form, field};
use super::login::count_requests;
use super::replies::{Problem, Reply, page, redirect};
use super::shared::Shared;
use super::upload::{geocode, insert_address, place, store, thumbnail_of};
use super::visitor::{Frame, changing_visitor, visitor};
use crate::data::{hexadecimal, password_hash};

/// MariaDB's error for a key that is there already.
const DUPLICATE_KEY: u16 = 1_062;

#[derive(Template)]
#[template(path = "person_form.html")]
struct Page {
    frame: Frame,
    form: Form,
    errors: Vec<String>,
}

pub async fn form(State(site): Shared, headers: HeaderMap) -> Reply {
    let visitor = visitor(&site, &headers).await;
    if visitor.is_none() {
        return page(&Page { frame: Frame::anonymous(), form: Form::default(), errors: Vec::new() });
    }
    let frame = Frame::of(&site, &mut site.connection().await?, visitor).await?;
    page(&Page { frame, form: Form::default(), errors: Vec::new() })
}

/// Whoever registers is not logged in by it, so there is no token.
pub async fn add(State(site): Shared, headers: HeaderMap, parts: Multipart) -> Reply {
    let form = Form::read(parts).await?;
    let mut errors = errors(&form);
    let thumb = thumbnail_of(&form, &mut errors).await?;
    let mut connection = site.connection().await?;
    if errors.is_empty() {
        let location = geocode(&site, &form).await?;
        let mut transaction = connection.start_transaction(TxOpts::default()).await?;
        let address = insert_address(&mut transaction, &form, &location).await?;
        match insert_person(&mut transaction, &form, address).await? {
            Some(id) => {
                let image = place("persons", id, &format!("P{id}.jpg"));
                let thumb_place = place("personThumbs", id, &format!("P{id}t.jpg"));
                store(
                    &site,
                    vec![(image.clone(), form.file("image").to_vec()), (thumb_place.clone(), thumb)],
                )
                .await?;
                let statement = "UPDATE person SET image = ?, thumb = ? WHERE id = ?";
                transaction.exec_drop(statement, (image, thumb_place, id)).await?;
                transaction.commit().await?;
                return Ok(redirect(&format!("/persons/{}", form.get("username"))));
            }
            None => transaction.rollback().await?,
        }
        errors.push("username: somebody has it".to_owned());
    }
    let frame = Frame::of(&site, &mut connection, visitor(&site, &headers).await).await?;
    let page = Page { frame, form, errors }.render()?;
    Ok((StatusCode::UNPROCESSABLE_ENTITY, Html(page)).into_response())
}

fn errors(form: &Form) -> Vec<String> {
    let mut checks = Checks::of(form);
    checks.username();
    checks.passwords();
    checks.length("first_name", 1, 25);
    checks.length("last_name", 1, 25);
    checks.email();
    checks.telephone();
    checks.length("timezone", 1, 25);
    checks.length("summary", 1, 2_500);
    checks.address();
    checks.image();
    checks.errors
}

/// `None` if somebody else has the name.
async fn insert_person(
    transaction: &mut Transaction<'_>,
    form: &Form,
    address: u64,
) -> Result<Option<u64>, Problem> {
    let statement = "INSERT INTO person (username, salt, password, first_name, last_name, email, telephone, timezone, summary, \
                     address_id, image, thumb) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', '')";
    let salt = hexadecimal(&rand::rng().random::<[u8; 8]>());
    let values = (
        form.get("username"),
        &salt,
        password_hash(&salt, form.get("password")),
        form.get("first_name"),
        form.get("last_name"),
        form.get("email"),
        form.get("telephone"),
        form.get("timezone"),
        form.get("summary"),
        address,
    );
    match transaction.exec_drop(statement, values).await {
        Ok(()) => Ok(transaction.last_insert_id()),
        Err(Error::Server(error)) if error.code == DUPLICATE_KEY => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub async fn friendship(
    State(site): Shared,
    headers: HeaderMap,
    axum::Form(fields): axum::Form<HashMap<String, String>>,
) -> Reply {
    let mut visitor = changing_visitor(&site, &headers, field(&fields, "token")).await?;
    let statement = match field(&fields, "action") {
        "request" => {
            "INSERT IGNORE INTO friendship (from_id, to_id, accepted) SELECT ?, id, 0 FROM person WHERE username = ?"
        }
        "approve" => {
            "UPDATE friendship f JOIN person p ON p.id = f.from_id SET f.accepted = 1 WHERE f.to_id = ? AND p.username = ?"
        }
        "reject" => {
            "DELETE f FROM friendship f JOIN person p ON p.id = f.from_id \
             WHERE f.to_id = ? AND p.username = ? AND f.accepted = 0"
        }
        "revoke" => {
            "DELETE f FROM friendship f JOIN person p ON p.id = f.to_id \
             WHERE f.from_id = ? AND p.username = ? AND f.accepted = 0"
        }
        _ => return Err(Problem::BadRequest),
    };
    if field(&fields, "person") == visitor.name {
        return Err(Problem::BadRequest);
    }
    let mut connection = site.connection().await?;
    connection.exec_drop(statement, (visitor.id, field(&fields, "person"))).await?;
    if matches!(field(&fields, "action"), "approve" | "reject") {
        visitor.requests = count_requests(&mut connection, visitor.id).await?;
        visitor.save(&site).await;
    }
    Ok(redirect(&format!("/persons/{}", visitor.name)))
}
