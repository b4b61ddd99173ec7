//! The pages, and the forms on them. A form does what the API does, and leads back to a page.

use std::str::FromStr;

use axum::Extension;
use axum::Form;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use queue::api::{Move, RunChange, Submission};
use queue::{EntryId, EntryState};
use serde::Deserialize;
use serde_json::json;
use similar::{ChangeTag, TextDiff};

use super::api::{compared, run_id};
use super::guard::open_session as open;
use super::site::Shared;
use crate::people::{Person, Who};
use crate::plan_text::PlanText;
use crate::service::error::ServiceError;
use crate::service::lists::{ENDED_PAGE, ListPart};
use crate::service::orders::Order;

/// The policy of a report: its own script, and nothing of this server. It has no origin, so no cookie and no API.
const REPORT_POLICY: &str = "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; \
                             style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A page, or why there is none.
pub type Page = Result<Response, Failure>;

/// An error as a page.
pub struct Failure(Shared, ServiceError);

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let Self(site, error) = self;
        (error.status(), site.pages.message("That did not work", &error.to_string())).into_response()
    }
}

/// Makes a page of an error.
pub fn shown<T>(site: &Shared, result: Result<T, impl Into<ServiceError>>) -> Result<T, Failure> {
    result.map_err(|error| Failure(site.clone(), error.into()))
}

/// `GET /`
pub async fn queue(State(site): State<Shared>, Query(query): Query<QueueQuery>) -> Page {
    let part = ListPart { after: query.after, has_ended: true, ended_before: query.before };
    let list = shown(&site, site.harness.list(part).await)?;
    let (open, ended): (Vec<_>, Vec<_>) = list.entries.into_iter().partition(|entry| !entry.state.is_ended());
    let (active, waiting): (Vec<_>, Vec<_>) = open.into_iter().partition(|entry| entry.state.is_active());
    let outlooks: std::collections::BTreeMap<String, _> =
        list.outlooks.into_iter().map(|outlook| (outlook.entry.to_string(), outlook)).collect();
    let (alarm, more) = (list.alarm, list.more);
    let end_of_page = if more > 0 { waiting.last().map(|entry| entry.id) } else { None };
    let is_full = ended.len() as u32 == ENDED_PAGE;
    let older = if is_full { ended.last().map(|entry| entry.id) } else { None };
    Ok(site.pages.page("queue.html", &json!({ "active": active, "waiting": waiting, "ended": ended, "outlooks": outlooks, "alarm": alarm, "older": older, "more": more, "last": end_of_page, "after": query.after })))
}

/// The entries that wait after one, and those at their end with a lower number.
#[derive(Deserialize)]
pub struct QueueQuery {
    after: Option<EntryId>,
    before: Option<EntryId>,
}

/// `GET /entries/ID`
pub async fn entry(State(site): State<Shared>, Path(id): Path<EntryId>) -> Page {
    let (entry, plan) = shown(&site, site.harness.entry(id).await)?;
    let outlook = shown(&site, site.harness.outlook(&entry).await)?;
    let parent = match entry.parent {
        Some(parent) => Some(difference_of(&shown(&site, site.harness.entry(parent).await)?.1, &plan)),
        None => None,
    };
    let has_run = match entry.run.as_deref().and_then(|run| run.parse().ok()) {
        Some(run) => site.harness.archive().dir(&run).is_dir(),
        None => false,
    };
    let aim = PlanText::read(&plan).ok().and_then(|read| read.plan.within);
    let can_move = matches!(entry.state, EntryState::Waiting | EntryState::Paused);
    let is_active = entry.state.is_active();
    let is_ended = entry.state.is_ended();
    let context = json!({ "entry": entry, "plan": plan, "outlook": outlook, "parent": parent, "has_run": has_run, "aim": aim, "can_move": can_move, "is_active": is_active, "is_ended": is_ended });
    Ok(site.pages.page("entry.html", &context))
}

/// `GET /entries/new`
pub async fn new_entry(State(site): State<Shared>) -> Page {
    Ok(site.pages.page("plan.html", &json!({ "plan": "", "heading": "Submit a plan" })))
}

/// `GET /entries/ID/again`
pub async fn again(State(site): State<Shared>, Path(id): Path<EntryId>) -> Page {
    let (entry, plan) = shown(&site, site.harness.entry(id).await)?;
    let heading = format!("Run entry {id} again");
    Ok(site.pages.page("plan.html", &json!({ "plan": plan, "heading": heading, "parent": entry.id })))
}

/// `GET /runs/ID/again`
pub async fn run_again(State(site): State<Shared>, Path(id): Path<String>) -> Page {
    let run = shown(&site, run_id(&id))?;
    let known = shown(&site, site.harness.run(run.clone()).await)?;
    let plan = shown(&site, site.harness.file(run, archive::layout::PLAN.to_owned()).await)?;
    let parent = known.entry.map(|entry| entry.id);
    let heading = format!("Run {id} again");
    Ok(site.pages.page("plan.html", &json!({ "plan": plan, "heading": heading, "parent": parent })))
}

/// A plan in a form.
#[derive(Deserialize)]
pub struct PlanForm {
    plan: String,
    #[serde(default)]
    parent: String,
    #[serde(default)]
    priority: String,
    #[serde(default)]
    paused: Option<String>,
}

impl PlanForm {
    /// Browsers send line ends as two characters.
    fn text(&self) -> String {
        self.plan.replace("\r\n", "\n")
    }

    fn parent(&self) -> Result<Option<EntryId>, ServiceError> {
        number(&self.parent, "the entry that it repeats")
    }
}

/// `POST /entries/difference`
pub async fn difference(State(site): State<Shared>, Form(form): Form<PlanForm>) -> Page {
    let plan = form.text();
    let problem = PlanText::read(&plan).err().map(|error| error.to_string());
    let lines = match shown(&site, form.parent())? {
        Some(parent) => difference_of(&shown(&site, site.harness.entry(parent).await)?.1, &plan),
        None => Vec::new(),
    };
    let heading = "Run again with changes";
    let PlanForm { parent, priority, .. } = form;
    let context = json!({ "plan": plan, "heading": heading, "parent": parent, "priority": priority, "lines": lines, "problem": problem, "is_reviewed": true });
    Ok(site.pages.page("plan.html", &context))
}

/// The lines in which a plan differs from an earlier plan, each with a sign and the text.
fn difference_of(old: &str, new: &str) -> Vec<(char, String)> {
    let mut lines = Vec::new();
    for change in TextDiff::from_lines(old, new).iter_all_changes() {
        let sign = match change.tag() {
            ChangeTag::Delete => '−',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => continue,
        };
        lines.push((sign, change.value().trim_end().to_owned()));
    }
    lines
}

/// `POST /entries`
pub async fn submit(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Form(form): Form<PlanForm>,
) -> Page {
    let submission = Submission {
        plan: form.text(),
        priority: shown(&site, number(&form.priority, "the priority"))?.unwrap_or(0),
        paused: form.paused.is_some(),
        parent: shown(&site, form.parent())?,
        key: None,
    };
    let (entry, _) = shown(&site, site.harness.submit(submission, person).await)?;
    Ok(Redirect::to(&format!("/entries/{}", entry.id)).into_response())
}

/// An order in a form.
#[derive(Deserialize)]
pub struct OrderForm {
    #[serde(default)]
    reason: String,
    #[serde(default)]
    before: String,
    /// Where the form was.
    #[serde(default)]
    from: String,
}

/// `POST /entries/ID/ORDER`
pub async fn order(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Path((id, name)): Path<(EntryId, String)>,
    Form(form): Form<OrderForm>,
) -> Page {
    let order = match name.as_str() {
        "pause" => Order::Pause(form.reason),
        "release" => Order::Release,
        "first" => Order::Move(Move::default()),
        "last" => Order::Move(Move { before: None, last: true }),
        "before" => {
            let before = shown(&site, number(&form.before, "the entry before which it is moved"))?;
            let before =
                before.ok_or_else(|| ServiceError::Bad("say before which entry it is moved".to_owned()));
            Order::Move(Move { before: Some(shown(&site, before)?), last: false })
        }
        "kill" => Order::Kill,
        "resume" => Order::Resume,
        _ => return shown(&site, Err(ServiceError::NotFound(format!("there is no order {name:?}")))),
    };
    shown(&site, site.harness.order(id, order, person).await)?;
    let to = if form.from == "queue" { "/".to_owned() } else { format!("/entries/{id}") };
    Ok(Redirect::to(&to).into_response())
}

/// A number in a field of a form; none in an empty one.
fn number<T: FromStr>(text: &str, what: &str) -> Result<Option<T>, ServiceError> {
    let Some(text) = some(text) else { return Ok(None) };
    text.parse().map(Some).map_err(|_| ServiceError::Bad(format!("{what} is {text:?}: use a whole number")))
}

fn some(text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() { None } else { Some(text.to_owned()) }
}

/// `GET /trash`
pub async fn trash(State(site): State<Shared>) -> Page {
    let mut runs = Vec::new();
    for deletion in shown(&site, site.harness.trash().await)? {
        runs.push(json!({ "run": deletion.run, "author": deletion.author, "unix_ms": deletion.unix_ms, "reason": deletion.reason }));
    }
    Ok(site.pages.page("trash.html", &json!({ "runs": runs })))
}

/// What is compared: each `run` of the form of the archive, in the order of its numbers.
#[derive(Deserialize)]
pub struct CompareQuery {
    #[serde(default)]
    runs: String,
    reference: Option<String>,
}

/// `GET /compare`
pub async fn compare(State(site): State<Shared>, Query(query): Query<CompareQuery>) -> Page {
    // Boxes and the field of the order write spaces, a script and the API commas.
    let runs = query.runs.split([',', ' ']).filter(|run| !run.is_empty()).collect::<Vec<_>>().join(",");
    let compared = shown(&site, compared(&site, &runs, query.reference.as_deref()).await)?;
    Ok(site.pages.page("compare.html", &json!({ "compared": compared, "runs": runs })))
}

/// `GET /hosts`
pub async fn hosts(State(site): State<Shared>) -> Page {
    let list = shown(&site, site.harness.hosts().await)?;
    Ok(site.pages.page("hosts.html", &json!({ "list": list })))
}

/// A reason in a form.
#[derive(Deserialize)]
pub struct ReasonForm {
    #[serde(default)]
    reason: String,
}

/// `POST /hosts/NAME/clean`
pub async fn clean_host(
    State(site): State<Shared>,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
    Form(form): Form<ReasonForm>,
) -> Page {
    shown(&site, site.harness.clean_host(name, who, form.reason).await)?;
    Ok(Redirect::to("/hosts").into_response())
}

/// `GET /runs/ID`
pub async fn run(State(site): State<Shared>, Path(id): Path<String>) -> Page {
    let known = shown(&site, site.harness.run(shown(&site, run_id(&id))?).await)?;
    let run = &known.run;
    let sentence = run.verdict.as_ref().map(|verdict| verdict.sentence.clone());
    let sentence = sentence.or_else(|| run.explanation.as_ref().map(|found| found.sentence.clone()));
    let sentence = sentence.or_else(|| run.concurrency.as_ref().map(|found| found.sentence.clone()));
    let plan = run.text(archive::layout::PLAN, 1 << 20).unwrap_or_default();
    let mut problems = Vec::new();
    for problem in &run.problems {
        problems.push(format!("{}: {}", problem.file, problem.text));
    }
    let series = run.plan.as_ref().map(archive::series_key);
    let (tags, state) = (run.tags.clone(), run.state.name());
    let (notes, entry) = (known.notes, known.entry.map(|entry| entry.id));
    let files = shown(&site, files_of(&known.run.dir))?;
    let context = json!({ "id": id, "state": state, "sentence": sentence, "plan": plan, "problems": problems, "tags": tags, "notes": notes, "entry": entry, "files": files, "series": series });
    Ok(site.pages.page("run.html", &context))
}

/// The names of the text files of a run, at most a thousand.
fn files_of(dir: &std::path::Path) -> Result<Vec<String>, std::io::Error> {
    let (mut names, mut folders) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            let kind = entry.file_type()?;
            if kind.is_dir() && !is_hidden {
                folders.push(path);
            } else if kind.is_file() && !is_hidden && is_text(&path) && names.len() < 1000 {
                names.extend(path.strip_prefix(dir).ok().map(|name| name.display().to_string()));
            }
        }
    }
    names.sort();
    Ok(names)
}

/// Whether a page shows a file: a report is made anew, and tables are no text.
fn is_text(path: &std::path::Path) -> bool {
    path.extension().is_none_or(|ending| ["html", "parquet", "hlog"].iter().all(|other| ending != *other))
}

/// `GET /runs/ID/report`
pub async fn report(State(site): State<Shared>, Path(id): Path<String>) -> Page {
    let html = shown(&site, site.harness.report(shown(&site, run_id(&id))?).await)?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(REPORT_POLICY)),
    ];
    Ok((headers, html).into_response())
}

/// A file of a run.
#[derive(Deserialize)]
pub struct FileQuery {
    name: String,
}

/// `GET /runs/ID/file`
pub async fn file(
    State(site): State<Shared>,
    Path(id): Path<String>,
    Query(query): Query<FileQuery>,
) -> Page {
    if !is_text(std::path::Path::new(&query.name)) {
        return shown(&site, Err(ServiceError::NotFound(format!("{} is no text: pull the run", query.name))));
    }
    let text = shown(&site, site.harness.file(shown(&site, run_id(&id))?, query.name.clone()).await)?;
    Ok(site.pages.page("file.html", &json!({ "id": id, "name": query.name, "text": text })))
}

/// A note, or tags, in a form.
#[derive(Deserialize)]
pub struct RunForm {
    #[serde(default)]
    note: String,
    #[serde(default)]
    add: String,
    #[serde(default)]
    remove: String,
}

async fn change(site: Shared, by: Person, id: &str, change: RunChange) -> Page {
    let run = shown(&site, run_id(id))?;
    shown(&site, site.harness.change_run(run, change, by.name).await)?;
    Ok(Redirect::to(&format!("/runs/{id}")).into_response())
}

/// `POST /runs/ID/note`
pub async fn note(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Path(id): Path<String>,
    Form(form): Form<RunForm>,
) -> Page {
    change(site, person, &id, RunChange { note: Some(form.note), ..RunChange::default() }).await
}

/// `POST /runs/ID/tags`
pub async fn tags(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Path(id): Path<String>,
    Form(form): Form<RunForm>,
) -> Page {
    let add_tags = form.add.split_whitespace().map(str::to_owned).collect();
    let remove_tags = some(&form.remove).into_iter().collect();
    change(site, person, &id, RunChange { add_tags, remove_tags, note: None }).await
}

/// `POST /runs/ID/delete`
pub async fn delete(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Path(id): Path<String>,
    Form(form): Form<ReasonForm>,
) -> Page {
    let run = shown(&site, run_id(&id))?;
    shown(&site, site.harness.delete_run(run, form.reason, person.name).await)?;
    Ok(Redirect::to("/trash").into_response())
}

/// `POST /runs/ID/restore`
pub async fn restore(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Path(id): Path<String>,
) -> Page {
    let run = shown(&site, run_id(&id))?;
    shown(&site, site.harness.restore_run(run, person.name).await)?;
    Ok(Redirect::to(&format!("/runs/{id}")).into_response())
}

/// The secret of a link.
#[derive(Deserialize)]
pub struct LinkForm {
    #[serde(default)]
    secret: String,
}

/// `GET /link`: a page with a button. A program that only looks at links uses none up.
pub async fn link(State(site): State<Shared>, Query(form): Query<LinkForm>) -> Page {
    Ok(site.pages.page("link.html", &json!({ "secret": form.secret })))
}

/// `POST /link`
pub async fn open_session(State(site): State<Shared>, Form(form): Form<LinkForm>) -> Page {
    let cookie = shown(&site, open(&site, &form.secret).await)?;
    Ok((StatusCode::SEE_OTHER, [(header::SET_COOKIE, cookie), (header::LOCATION, "/".to_owned())])
        .into_response())
}
