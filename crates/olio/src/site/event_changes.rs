//! What changes an event: it is added, commented, rated, deleted.

use std::collections::HashMap;

use askama::Template;
use axum::extract::{Multipart, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Transaction, TxOpts};

use super::events::number;
use super::form::{Checks, Form, field};
use super::login::Confirmation;
use super::replies::{Problem, Reply, is_tried_again, page, redirect};
use super::shared::{Shared, Site};
use super::upload::{geocode, insert_address, place, store, thumbnail_of};
use super::visitor::{Frame, changing_visitor, visitor};

#[derive(Template)]
#[template(path = "event_form.html")]
struct Page {
    frame: Frame,
    token: String,
    form: Form,
    errors: Vec<String>,
}

pub async fn form(State(site): Shared, headers: HeaderMap) -> Reply {
    let visitor = visitor(&site, &headers).await;
    if visitor.is_none() {
        return page(&Page {
            frame: Frame::anonymous(),
            token: String::new(),
            form: Form::default(),
            errors: Vec::new(),
        });
    }
    let frame = Frame::of(&site, &mut site.connection().await?, visitor).await?;
    page(&Page { token: frame.token(), frame, form: Form::default(), errors: Vec::new() })
}

pub async fn add(State(site): Shared, headers: HeaderMap, parts: Multipart) -> Reply {
    let form = Form::read(parts).await?;
    let visitor = changing_visitor(&site, &headers, form.get("token")).await?;
    let mut errors = errors(&form);
    let thumb = thumbnail_of(&form, &mut errors).await?;
    let mut connection = site.connection().await?;
    if !errors.is_empty() {
        let frame = Frame::of(&site, &mut connection, Some(visitor)).await?;
        let page = Page { token: frame.token(), frame, form, errors }.render()?;
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, Html(page)).into_response());
    }
    let location = geocode(&site, &form).await?;
    let mut attempts = 1;
    loop {
        let added = add_with_tags(&site, &mut connection, &form, visitor.id, &location, &thumb).await;
        if !is_tried_again(&added, attempts) {
            return Ok(redirect(&format!("/events/{}", added?)));
        }
        attempts += 1;
    }
}

/// One attempt of the transaction. Tags come in the order of the alphabet, so that few attempts wait for each other.
async fn add_with_tags(
    site: &Site,
    connection: &mut Conn,
    form: &Form,
    submitter: u32,
    location: &(String, String),
    thumb: &[u8],
) -> Result<u64, Problem> {
    let mut transaction = connection.start_transaction(TxOpts::default()).await?;
    let address = insert_address(&mut transaction, form, location).await?;
    let id = insert_event(site, &mut transaction, form, submitter, address).await?;
    for tag in form.tags() {
        let counted = "INSERT INTO tag (name, refcount) VALUES (?, 1) \
                       ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), refcount = refcount + 1";
        transaction.exec_drop(counted, (tag,)).await?;
        let tag_id = transaction.last_insert_id().unwrap_or(0);
        transaction.exec_drop("INSERT INTO event_tag (tag_id, event_id) VALUES (?, ?)", (tag_id, id)).await?;
    }
    transaction
        .exec_drop("INSERT INTO attendance (person_id, event_id) VALUES (?, ?)", (submitter, id))
        .await?;
    store_files(site, &mut transaction, form, id, thumb).await?;
    transaction.commit().await?;
    Ok(id)
}

fn errors(form: &Form) -> Vec<String> {
    let mut checks = Checks::of(form);
    checks.length("title", 1, 100);
    checks.length("summary", 1, 100);
    checks.length("description", 1, 500);
    checks.time();
    checks.length("timezone", 1, 25);
    checks.telephone();
    checks.address();
    checks.tags();
    checks.image();
    checks.literature();
    checks.errors
}

async fn insert_event(
    site: &Site,
    transaction: &mut Transaction<'_>,
    form: &Form,
    submitter: u32,
    address: u64,
) -> Result<u64, Problem> {
    let statement = "INSERT INTO event (title, summary, description, submitter_id, address_id, telephone, timezone, starts_at, \
                     created_at, image, thumb, literature) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '', '', '')";
    let starts = format!("{} {:0>2}:{:0>2}:00", form.get("date"), form.get("hour"), form.get("minute"));
    let values = (
        form.get("title"),
        form.get("summary"),
        form.get("description"),
        submitter,
        address,
        form.get("telephone"),
        form.get("timezone"),
        starts,
        &site.settings.now,
    );
    transaction.exec_drop(statement, values).await?;
    Ok(transaction.last_insert_id().unwrap_or(0))
}

/// Files are there before the event is: a page never names one that is not.
async fn store_files(
    site: &Site,
    transaction: &mut Transaction<'_>,
    form: &Form,
    id: u64,
    thumb: &[u8],
) -> Result<(), Problem> {
    let image = place("events", id, &format!("E{id}.jpg"));
    let thumb_place = place("eventThumbs", id, &format!("E{id}t.jpg"));
    let mut files = vec![(image.clone(), form.file("image").to_vec()), (thumb_place.clone(), thumb.to_vec())];
    let mut literature = String::new();
    if !form.file("literature").is_empty() {
        literature = place("eventLits", id, &format!("E{id}l.pdf"));
        files.push((literature.clone(), form.file("literature").to_vec()));
    }
    store(site, files).await?;
    let statement = "UPDATE event SET image = ?, thumb = ?, literature = ? WHERE id = ?";
    Ok(transaction.exec_drop(statement, (image, thumb_place, literature, id)).await?)
}

pub async fn comment(
    State(site): Shared,
    headers: HeaderMap,
    Path(id): Path<String>,
    axum::Form(fields): axum::Form<HashMap<String, String>>,
) -> Reply {
    let id = number(&id)?;
    let token = fields.get("token").map_or("", String::as_str);
    let visitor = changing_visitor(&site, &headers, token).await?;
    let body = field(&fields, "comment");
    if !(1..=2_500).contains(&body.chars().count()) {
        return Err(Problem::BadRequest);
    }
    let mut connection = site.connection().await?;
    let statement = "INSERT INTO comment (person_id, event_id, body, rating, created_at) \
                     SELECT ?, id, ?, ?, ? FROM event WHERE id = ?";
    connection.exec_drop(statement, (visitor.id, body, visitor.rating, &site.settings.now, id)).await?;
    if connection.affected_rows() == 0 {
        return Err(Problem::NotFound);
    }
    Ok(redirect(&format!("/events/{id}")))
}

/// The rating stays in the session until the visitor comments.
pub async fn rate(
    State(site): Shared,
    headers: HeaderMap,
    Path(id): Path<String>,
    axum::Form(fields): axum::Form<HashMap<String, String>>,
) -> Reply {
    let id = number(&id)?;
    let token = fields.get("token").map_or("", String::as_str);
    let mut visitor = changing_visitor(&site, &headers, token).await?;
    visitor.rating = match fields.get("rating").map_or("", String::as_str) {
        "1" => 1,
        "2" => 2,
        "3" => 3,
        "4" => 4,
        "5" => 5,
        _ => return Err(Problem::BadRequest),
    };
    visitor.save(&site).await;
    Ok(redirect(&format!("/events/{id}")))
}

pub async fn delete(
    State(site): Shared,
    headers: HeaderMap,
    Path(id): Path<String>,
    axum::Form(form): axum::Form<Confirmation>,
) -> Reply {
    let id = number(&id)?;
    let visitor = changing_visitor(&site, &headers, &form.token).await?;
    let mut connection = site.connection().await?;
    let mut attempts = 1;
    loop {
        let deleted = delete_with_all(&mut connection, id, visitor.id).await;
        if !is_tried_again(&deleted, attempts) {
            deleted?;
            return Ok(redirect("/"));
        }
        attempts += 1;
    }
}

/// One attempt of the transaction: the event with all that belongs to it.
async fn delete_with_all(connection: &mut Conn, id: u32, visitor: u32) -> Result<(), Problem> {
    let mut transaction = connection.start_transaction(TxOpts::default()).await?;
    let found: Option<(u32, u32)> = transaction
        .exec_first("SELECT submitter_id, address_id FROM event WHERE id = ? FOR UPDATE", (id,))
        .await?;
    let (submitter, address) = found.ok_or(Problem::NotFound)?;
    if submitter != visitor {
        return Err(Problem::Forbidden);
    }
    let counted = "UPDATE tag SET refcount = refcount - 1 WHERE id IN (SELECT tag_id FROM event_tag WHERE event_id = ?)";
    transaction.exec_drop(counted, (id,)).await?;
    for table in ["event_tag", "attendance", "comment"] {
        transaction.exec_drop(format!("DELETE FROM {table} WHERE event_id = ?"), (id,)).await?;
    }
    transaction.exec_drop("DELETE FROM event WHERE id = ?", (id,)).await?;
    transaction.exec_drop("DELETE FROM address WHERE id = ?", (address,)).await?;
    Ok(transaction.commit().await?)
}
