//! The description of the API. `openapi.json` is committed; a test compares it with this, and asks every route.

use serde_json::{Map, Value, json};
use utoipa::OpenApi;

/// What a route answers.
enum Answer {
    /// Nothing.
    Nothing,
    /// A value of a type.
    One(&'static str),
    /// Values of a type.
    ListOf(&'static str),
    /// Texts.
    Texts,
    /// A file or a stream of a type of media.
    Bytes(&'static str),
}

/// A route of the API.
struct ApiRoute {
    method: &'static str,
    path: &'static str,
    about: &'static str,
    /// The type of the body.
    takes: Option<&'static str>,
    /// The answer.
    gives: Answer,
    /// Parameters of the query.
    query: &'static [&'static str],
}

const fn route(
    method: &'static str,
    path: &'static str,
    about: &'static str,
    takes: Option<&'static str>,
    gives: Answer,
    query: &'static [&'static str],
) -> ApiRoute {
    ApiRoute { method, path, about, takes, gives, query }
}

const ROUTES: &[ApiRoute] = &[
    route("get", "/entries", "The queue", None, Answer::One("QueueList"), &["all", "before", "after"]),
    route("post", "/entries", "Submit a plan", Some("Submission"), Answer::One("Entry"), &[]),
    route(
        "post",
        "/sequences",
        "Submit plans that run one after the other",
        Some("SequenceSubmission"),
        Answer::ListOf("Entry"),
        &[],
    ),
    route("get", "/entries/{id}", "An entry", None, Answer::One("Entry"), &[]),
    route("get", "/entries/{id}/plan", "The text of its plan", None, Answer::Bytes("text/plain"), &[]),
    route(
        "post",
        "/entries/{id}/pause",
        "Take it out of the order",
        Some("Reason"),
        Answer::One("Entry"),
        &[],
    ),
    route("post", "/entries/{id}/release", "Put it back", None, Answer::One("Entry"), &[]),
    route("post", "/entries/{id}/move", "Give it another place", Some("Move"), Answer::One("Entry"), &[]),
    route("post", "/entries/{id}/kill", "Stop it", None, Answer::One("Entry"), &[]),
    route("post", "/entries/{id}/resume", "Let a lost run go on", None, Answer::One("Entry"), &[]),
    route(
        "get",
        "/entries/{id}/events",
        "Its progress as server-sent events",
        None,
        Answer::Bytes("text/event-stream"),
        &["last"],
    ),
    route("post", "/controllers", "A controller has started", Some("NewController"), Answer::Nothing, &[]),
    route(
        "post",
        "/claims",
        "A controller asks for work",
        Some("ClaimCall"),
        Answer::One("ClaimAnswer"),
        &[],
    ),
    route(
        "post",
        "/attempts/{id}",
        "News of an attempt",
        Some("AttemptCall"),
        Answer::One("AttemptAnswer"),
        &[],
    ),
    route("put", "/attempts/{id}/bundle", "The packed run of an attempt", None, Answer::Nothing, &["token"]),
    route("get", "/hosts", "Hosts and controllers", None, Answer::One("HostList"), &[]),
    route(
        "post",
        "/hosts/{name}/clean",
        "Free a host from quarantine",
        Some("Reason"),
        Answer::One("HostRow"),
        &[],
    ),
    route(
        "get",
        "/runs",
        "Runs of a search or of a view; several tags are allowed",
        None,
        Answer::ListOf("RunLine"),
        &["q", "tag", "workload", "state", "kind", "order", "view", "limit", "after"],
    ),
    route(
        "patch",
        "/runs/{id}",
        "Change tags, add a note; the tags after it",
        Some("RunChange"),
        Answer::Texts,
        &[],
    ),
    route("delete", "/runs/{id}", "Put it into the trash", Some("Reason"), Answer::Nothing, &[]),
    route("post", "/runs/{id}/restore", "Take it out of the trash", None, Answer::Nothing, &[]),
    route("get", "/runs/{id}/bundle", "The packed run", None, Answer::Bytes("application/gzip"), &[]),
    route("get", "/views", "Your saved views of the archive", None, Answer::ListOf("SavedView"), &[]),
    route("post", "/views", "Give a search a name", Some("NewView"), Answer::One("SavedView"), &[]),
    route(
        "patch",
        "/views/{id}",
        "Rename or change a view",
        Some("ChangedView"),
        Answer::One("SavedView"),
        &[],
    ),
    route("delete", "/views/{id}", "Delete a view", None, Answer::Nothing, &[]),
    route(
        "get",
        "/series/{key}",
        "History of a series",
        None,
        Answer::One("SeriesHistory"),
        &["of", "before"],
    ),
    route(
        "get",
        "/compare",
        "Runs beside one another",
        None,
        Answer::One("ComparedRuns"),
        &["runs", "reference"],
    ),
    route(
        "get",
        "/audit",
        "Who has done what, the newest first",
        None,
        Answer::ListOf("AuditLine"),
        &["before"],
    ),
    route("post", "/links", "A new link that opens a session", None, Answer::One("Link"), &[]),
];

/// The types of the API.
#[derive(OpenApi)]
#[openapi(components(schemas(
    queue::api::QueueList,
    queue::api::Submission,
    queue::api::SequenceSubmission,
    queue::api::Reason,
    queue::api::Move,
    queue::api::ClaimCall,
    queue::api::ClaimAnswer,
    queue::api::AttemptCall,
    queue::api::AttemptAnswer,
    queue::api::HostList,
    queue::api::RunChange,
    queue::api::Problem,
    queue::NewController,
    queue::HostRow,
    queue::Entry,
    crate::comparison::ComparedRuns,
    crate::store::AuditLine,
    super::api::Link,
    super::views::RunLine,
    super::views::NewView,
    super::views::ChangedView,
    crate::series::SeriesHistory,
    crate::search::SavedView,
    crate::search::ArchiveSearch,
)))]
struct Types;

/// The description as JSON.
pub fn document() -> Value {
    let mut document = serde_json::to_value(Types::openapi()).unwrap_or_default();
    let mut paths: Map<String, Value> = Map::new();
    for ApiRoute { method, path, about, takes, gives, query } in ROUTES {
        let mut operation = json!({ "summary": about, "responses": {
            "default": { "description": "Why not", "content": content("Problem") } } });
        operation["responses"]["2XX"] = gives.description();
        if let Some(name) = takes {
            operation["requestBody"] = json!({ "required": true, "content": content(name) });
        }
        let mut parameters = Vec::new();
        for name in path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
            parameters.push(
                json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }),
            );
        }
        for name in *query {
            parameters.push(json!({ "name": name, "in": "query", "schema": { "type": "string" } }));
        }
        operation["parameters"] = Value::Array(parameters);
        let entry = paths.entry((*path).to_owned()).or_insert_with(|| json!({}));
        entry[*method] = operation;
    }
    document["info"] = json!({ "title": "Showdown's harness", "version": "1" });
    document["servers"] = json!([{ "url": "/api/v1" }]);
    document["paths"] = Value::Object(paths);
    document
}

impl Answer {
    fn description(&self) -> Value {
        let (media, schema) = match self {
            Self::Nothing => return json!({ "description": "Done" }),
            Self::One(name) => ("application/json", reference(name)),
            Self::ListOf(name) => ("application/json", json!({ "type": "array", "items": reference(name) })),
            Self::Texts => ("application/json", json!({ "type": "array", "items": { "type": "string" } })),
            Self::Bytes(media) => (*media, json!({ "type": "string" })),
        };
        json!({ "description": "The answer", "content": { media: { "schema": schema } } })
    }
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn content(name: &str) -> Value {
    json!({ "application/json": { "schema": reference(name) } })
}

/// Each method and path, for tests that ask all of them.
pub fn routes() -> Vec<(&'static str, &'static str)> {
    ROUTES.iter().map(|route| (route.method, route.path)).collect()
}
