//! The page of the archive, and saved views of it: as pages with forms, and in the API.

use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Form, Json};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use archive::model::RunKind;
use archive::{RunId, RunOrder, RunState};

use super::api::run_id;
use super::pages::{Page, shown};
use super::site::Shared;
use crate::people::Person;
use crate::search::{ArchiveSearch, SavedView};
use crate::service::error::ServiceError;
use crate::service::views::ViewChange;

/// Runs on a page of the archive.
const ARCHIVE_PAGE: u32 = 100;

/// The fields of a form or of an address: a tag may be there several times.
type Fields = Vec<(String, String)>;

/// The value of a field.
fn field<'f>(fields: &'f Fields, name: &str) -> &'f str {
    let found = fields.iter().find(|(other, _)| other == name);
    found.map_or("", |(_, value)| value.as_str())
}

/// The run after which a page of a list begins; none for the first page.
fn after(fields: &Fields) -> Result<Option<RunId>, ServiceError> {
    match field(fields, "after") {
        "" => Ok(None),
        text => run_id(text).map(Some),
    }
}

/// `GET /archive`
pub async fn archive(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Query(fields): Query<Fields>,
) -> Page {
    let search = shown(&site, ArchiveSearch::from_fields(&fields))?;
    let views = shown(&site, site.harness.views(&person).await)?;
    // The address of a view may be given to somebody else, who has no such view.
    let view = views.iter().find(|view| view.id.to_string() == field(&fields, "view"));
    let is_changed = view.is_some_and(|view| view.search != search);
    let after = shown(&site, after(&fields))?;
    let query = archive::Query { after: after.clone(), ..search.query(ARCHIVE_PAGE) };
    let runs = shown(&site, site.harness.runs(query).await)?;
    let next = if runs.len() as u32 == ARCHIVE_PAGE { runs.last().map(|run| run.id.clone()) } else { None };
    let context = json!({
        "runs": runs,
        "search": search,
        "fields": search.fields(),
        "views": views,
        "view": view,
        "is_changed": is_changed,
        "after": after,
        "next": next,
        "states": RunState::ALL.map(RunState::name),
        "kinds": RunKind::ALL.map(RunKind::name),
        "orders": RunOrder::ALL.map(RunOrder::name),
        "most": crate::comparison::MOST_RUNS,
    });
    Ok(site.pages.page("archive.html", &context))
}

/// The most runs of a CSV file.
const MOST_IN_FILE: u32 = 100_000;

/// `GET /archive.csv`: all runs of a search as a file for a spreadsheet.
pub async fn csv(State(site): State<Shared>, Query(fields): Query<Fields>) -> Page {
    let search = shown(&site, ArchiveSearch::from_fields(&fields))?;
    let runs = shown(&site, site.harness.runs(search.query(MOST_IN_FILE)).await)?;
    let mut rows = Vec::new();
    for run in runs {
        rows.push([
            run.id.to_string(),
            run.started_unix_ms.to_string(),
            run.state.name().to_owned(),
            run.kind.unwrap_or_default(),
            run.workload.unwrap_or_default(),
            run.variants.join(" "),
            run.sentence.unwrap_or_default(),
            run.valid.to_string(),
            run.invalid.to_string(),
            run.tags.join(" "),
            run.series.unwrap_or_default(),
        ]);
    }
    let text = lines(&rows).expect("memory takes all bytes");
    let heading = "id,started_unix_ms,state,kind,workload,variants,answer,valid,invalid,tags,series";
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"runs.csv\""),
    ];
    Ok((headers, format!("{heading}\n{text}")).into_response())
}

/// Lines of a CSV file, each cell in quotes. A spreadsheet would take a text of somebody else that begins like a formula for one.
fn lines<const CELLS: usize>(rows: &[[String; CELLS]]) -> csv::Result<String> {
    let mut writer = csv::WriterBuilder::new().quote_style(csv::QuoteStyle::Always).from_writer(Vec::new());
    for row in rows {
        for text in row {
            let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
            let quote = if is_formula { "'" } else { "" };
            writer.write_field(format!("{quote}{text}"))?;
        }
        writer.write_record(None::<&[u8]>)?;
    }
    let bytes = writer.into_inner().map_err(csv::IntoInnerError::into_error)?;
    Ok(String::from_utf8(bytes).expect("cells are texts"))
}

/// The archive as a view shows it. Its address has the whole search, so it can be given to others.
fn page_of(view: &SavedView) -> Response {
    let address = view.search.address();
    let id = view.id;
    let query = if address.is_empty() { format!("view={id}") } else { format!("{address}&view={id}") };
    Redirect::to(&format!("/archive?{query}")).into_response()
}

/// `GET /views/ID`
pub async fn open(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Path(id): Path<u64>,
) -> Page {
    Ok(page_of(&shown(&site, site.harness.view(id, &person).await)?))
}

/// `POST /views`
pub async fn save(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Form(fields): Form<Fields>,
) -> Page {
    let search = shown(&site, ArchiveSearch::from_fields(&fields))?;
    let saved = site.harness.save_view(field(&fields, "name"), search, person).await;
    Ok(page_of(&shown(&site, saved)?))
}

/// `POST /views/ID/name`
pub async fn rename(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Path(id): Path<u64>,
    Form(fields): Form<Fields>,
) -> Page {
    let change = ViewChange { name: Some(field(&fields, "name").to_owned()), search: None };
    Ok(page_of(&shown(&site, site.harness.change_view(id, change, person).await)?))
}

/// `POST /views/ID/search`
pub async fn replace(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Path(id): Path<u64>,
    Form(fields): Form<Fields>,
) -> Page {
    let search = shown(&site, ArchiveSearch::from_fields(&fields))?;
    let change = ViewChange { name: None, search: Some(search) };
    Ok(page_of(&shown(&site, site.harness.change_view(id, change, person).await)?))
}

/// `POST /views/ID/delete`
pub async fn delete(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Path(id): Path<u64>,
) -> Page {
    shown(&site, site.harness.delete_view(id, person).await)?;
    Ok(Redirect::to("/archive").into_response())
}

/// A search that gets a name.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewView {
    /// The name.
    name: String,
    /// The search; all runs if missing.
    #[serde(default)]
    search: ArchiveSearch,
}

/// A change of a view: what is missing stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangedView {
    /// The new name.
    #[serde(default)]
    name: Option<String>,
    /// The new search.
    #[serde(default)]
    search: Option<ArchiveSearch>,
}

/// A run in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct RunLine {
    /// Its id.
    pub id: String,
    /// When it began: milliseconds since 1970.
    pub started_unix_ms: i64,
    /// Its state.
    pub state: String,
    /// The kind of the run. None if the plan of the run cannot be read.
    pub kind: Option<String>,
    /// Its workload.
    pub workload: Option<String>,
    /// Its variants.
    pub variants: Vec<String>,
    /// Its answer.
    pub sentence: Option<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// The key of the series. None if the plan of the run cannot be read.
    pub series: Option<String>,
}

/// The most runs of a list, and how many there are where nobody asks for a number.
const MOST_LISTED: u32 = 500;
const LISTED: u32 = 50;

/// `GET runs`: the runs of a search, or the runs of a view. The next page begins after the last run of this one.
pub async fn runs(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Query(fields): Query<Fields>,
) -> Result<Json<Vec<RunLine>>, ServiceError> {
    let limit = match field(&fields, "limit") {
        "" => LISTED,
        text => text
            .parse()
            .map_err(|_| ServiceError::Bad(format!("limit={text} is no number: use 1 to {MOST_LISTED}")))?,
    };
    let search = match field(&fields, "view") {
        "" => ArchiveSearch::from_fields(&fields)?,
        text => site.harness.view(text.parse().unwrap_or(0), &person).await?.search,
    };
    let mut lines = Vec::new();
    let query = archive::Query { after: after(&fields)?, ..search.query(limit.min(MOST_LISTED)) };
    for run in site.harness.runs(query).await? {
        lines.push(RunLine {
            id: run.id.to_string(),
            started_unix_ms: run.started_unix_ms,
            state: run.state.name().to_owned(),
            kind: run.kind,
            workload: run.workload,
            variants: run.variants,
            sentence: run.sentence,
            tags: run.tags,
            series: run.series,
        });
    }
    Ok(Json(lines))
}

/// `GET views`
pub async fn list(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
) -> Result<Json<Vec<SavedView>>, ServiceError> {
    Ok(Json(site.harness.views(&person).await?))
}

/// `POST views`
pub async fn add(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Json(new): Json<NewView>,
) -> Result<Response, ServiceError> {
    let view = site.harness.save_view(&new.name, new.search, person).await?;
    Ok((StatusCode::CREATED, Json(view)).into_response())
}

/// `PATCH views/ID`
pub async fn change(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Path(id): Path<u64>,
    Json(ChangedView { name, search }): Json<ChangedView>,
) -> Result<Json<SavedView>, ServiceError> {
    Ok(Json(site.harness.change_view(id, ViewChange { name, search }, person).await?))
}

/// `DELETE views/ID`
pub async fn remove(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Path(id): Path<u64>,
) -> Result<StatusCode, ServiceError> {
    site.harness.delete_view(id, person).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_one_text_and_no_formula() {
        let rows = ["a, \"b\"\nc", "=HYPERLINK(1)", ""].map(|text| [text.to_owned()]);
        assert_eq!(lines(&rows).unwrap(), "\"a, \"\"b\"\"\nc\"\n\"'=HYPERLINK(1)\"\n\"\"\n");
    }
}
