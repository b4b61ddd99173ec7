//! The API: JSON in, a verb, JSON out. `openapi.json` describes it.

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use queue::api::{
    AttemptAnswer, AttemptCall, ClaimAnswer, ClaimCall, HostList, Move, QueueList, Reason, RunChange,
    SequenceSubmission, Submission,
};
use queue::{Entry, EntryId, HostRow, NewController};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::guard::new_link;
use super::site::Shared;
use crate::comparison::{self, ComparedRuns, FEWEST_RUNS, MOST_RUNS};
use crate::people::{Person, Who};
use crate::service::error::ServiceError;
use crate::service::lists::ListPart;
use crate::service::orders::Order;

type Answer<T> = Result<Json<T>, ServiceError>;

/// Which entries are listed.
#[derive(Deserialize)]
pub struct ListQuery {
    /// Also those at their end.
    #[serde(default)]
    all: bool,
    /// Of those at their end, the ones with a lower number.
    before: Option<EntryId>,
    /// Of those that wait or are paused, the ones after this one.
    after: Option<EntryId>,
}

/// A link that opens one session in a browser.
#[derive(Debug, Serialize, ToSchema)]
pub struct Link {
    /// Its path, with the secret.
    pub path: String,
}

/// Which runs are compared.
#[derive(Deserialize)]
pub struct CompareQuery {
    /// The ids, with commas between.
    runs: String,
    /// The row of the ratios: run and variant with a slash between.
    reference: Option<String>,
}

/// `GET entries`
pub async fn list(State(site): State<Shared>, Query(query): Query<ListQuery>) -> Answer<QueueList> {
    let ListQuery { all, before, after } = query;
    Ok(Json(site.harness.list(ListPart { after, has_ended: all, ended_before: before }).await?))
}

/// `POST entries`
pub async fn submit(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Json(submission): Json<Submission>,
) -> Result<Response, ServiceError> {
    let (entry, is_new) = site.harness.submit(submission, person).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(entry)).into_response())
}

/// `GET entries/ID`
pub async fn entry(State(site): State<Shared>, Path(id): Path<EntryId>) -> Answer<Entry> {
    Ok(Json(site.harness.entry(id).await?.0))
}

/// `GET entries/ID/plan`
pub async fn plan(State(site): State<Shared>, Path(id): Path<EntryId>) -> Result<String, ServiceError> {
    Ok(site.harness.entry(id).await?.1)
}

/// `POST sequences`
pub async fn submit_sequence(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Json(submission): Json<SequenceSubmission>,
) -> Result<Response, ServiceError> {
    let entries = site.harness.submit_sequence(submission, person).await?;
    Ok((StatusCode::CREATED, Json(entries)).into_response())
}

async fn order(site: Shared, by: Person, id: EntryId, order: Order) -> Answer<Entry> {
    Ok(Json(site.harness.order(id, order, by).await?))
}

/// `POST entries/ID/pause`
pub async fn pause(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Path(id): Path<EntryId>,
    Json(why): Json<Reason>,
) -> Answer<Entry> {
    order(site, person, id, Order::Pause(why.reason)).await
}

/// `POST entries/ID/release`
pub async fn release(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Path(id): Path<EntryId>,
) -> Answer<Entry> {
    order(site, person, id, Order::Release).await
}

/// `POST entries/ID/move`
pub async fn place(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Path(id): Path<EntryId>,
    Json(to): Json<Move>,
) -> Answer<Entry> {
    order(site, person, id, Order::Move(to)).await
}

/// `POST entries/ID/kill`
pub async fn kill(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Path(id): Path<EntryId>,
) -> Answer<Entry> {
    order(site, person, id, Order::Kill).await
}

/// `POST entries/ID/resume`
pub async fn resume(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Path(id): Path<EntryId>,
) -> Answer<Entry> {
    order(site, person, id, Order::Resume).await
}

/// The name of the secret of a controller.
pub fn owner(who: Who) -> Result<String, ServiceError> {
    match who {
        Who::Controller(name) => Ok(name),
        Who::Person(_) => Err(ServiceError::Forbidden("only a controller speaks for a run".to_owned())),
    }
}

/// `POST controllers`
pub async fn register(
    State(site): State<Shared>,
    Extension(who): Extension<Who>,
    Json(new): Json<NewController>,
) -> Result<StatusCode, ServiceError> {
    site.harness.register(new, owner(who)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST claims`
pub async fn claim(
    State(site): State<Shared>,
    Extension(who): Extension<Who>,
    Json(call): Json<ClaimCall>,
) -> Answer<ClaimAnswer> {
    Ok(Json(site.harness.claim(call, &owner(who)?).await?))
}

/// `POST attempts/ID`
pub async fn attempt(
    State(site): State<Shared>,
    Extension(who): Extension<Who>,
    Path(id): Path<EntryId>,
    Json(call): Json<AttemptCall>,
) -> Answer<AttemptAnswer> {
    Ok(Json(site.harness.attempt(id, call, owner(who)?).await?))
}

/// `GET hosts`
pub async fn hosts(State(site): State<Shared>) -> Answer<HostList> {
    Ok(Json(site.harness.hosts().await?))
}

/// `POST hosts/NAME/clean`
pub async fn clean_host(
    State(site): State<Shared>,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
    Json(why): Json<Reason>,
) -> Answer<HostRow> {
    Ok(Json(site.harness.clean_host(name, who, why.reason).await?))
}

/// The id of a run in a path or a query.
pub fn run_id(text: &str) -> Result<archive::RunId, ServiceError> {
    text.parse().map_err(|_| ServiceError::NotFound(format!("{text:?} is no id of a run")))
}

/// `PATCH runs/ID`
pub async fn change_run(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Path(id): Path<String>,
    Json(change): Json<RunChange>,
) -> Answer<Vec<String>> {
    Ok(Json(site.harness.change_run(run_id(&id)?, change, person.name).await?))
}

/// `DELETE runs/ID`
pub async fn delete_run(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Path(id): Path<String>,
    Json(why): Json<Reason>,
) -> Result<StatusCode, ServiceError> {
    site.harness.delete_run(run_id(&id)?, why.reason, person.name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST runs/ID/restore`
pub async fn restore_run(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Path(id): Path<String>,
) -> Result<StatusCode, ServiceError> {
    site.harness.restore_run(run_id(&id)?, person.name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `GET compare`
pub async fn compare(State(site): State<Shared>, Query(query): Query<CompareQuery>) -> Answer<ComparedRuns> {
    Ok(Json(compared(&site, &query.runs, query.reference.as_deref()).await?))
}

/// Compares the runs of a list with commas.
pub async fn compared(
    site: &Shared,
    runs: &str,
    reference: Option<&str>,
) -> Result<ComparedRuns, ServiceError> {
    let mut ids = Vec::new();
    for text in runs.split(',').filter(|text| !text.is_empty()) {
        let id = run_id(text)?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    if !(FEWEST_RUNS..=MOST_RUNS).contains(&ids.len()) {
        let count = ids.len();
        return Err(ServiceError::Bad(format!(
            "choose {FEWEST_RUNS} to {MOST_RUNS} runs; {count} are chosen"
        )));
    }
    let runs = site.harness.runs_in_order(ids).await?;
    Ok(comparison::compare(&runs, reference.and_then(|text| text.split_once('/'))))
}

/// `POST links`
pub async fn link(State(site): State<Shared>) -> Answer<Link> {
    let secret = new_link(&site, None).await?;
    Ok(Json(Link { path: format!("/link?secret={secret}") }))
}

/// `GET /healthz`: the store answers.
pub async fn health(State(site): State<Shared>) -> Result<&'static str, ServiceError> {
    site.harness.hosts().await?;
    Ok("ok\n")
}
