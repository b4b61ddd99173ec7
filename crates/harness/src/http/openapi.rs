//! The description of the API. `openapi.json` is committed; a test compares it with this, and asks every route.

use serde_json::{Map, Value, json};
use utoipa::OpenApi;

/// A route of the API.
struct ApiRoute {
    method: &'static str,
    path: &'static str,
    about: &'static str,
    /// The type of the body.
    takes: Option<&'static str>,
    /// The type of the answer.
    gives: Option<&'static str>,
    /// Parameters of the query.
    query: &'static [&'static str],
}

const fn route(
    method: &'static str,
    path: &'static str,
    about: &'static str,
    takes: Option<&'static str>,
    gives: Option<&'static str>,
    query: &'static [&'static str],
) -> ApiRoute {
    ApiRoute { method, path, about, takes, gives, query }
}

const ROUTES: &[ApiRoute] = &[
    route("get", "/entries", "The queue", None, Some("QueueList"), &["all", "before"]),
    route("post", "/entries", "Submit a plan", Some("Submission"), Some("Entry"), &[]),
    route("get", "/entries/{id}", "An entry", None, Some("Entry"), &[]),
    route("get", "/entries/{id}/plan", "The text of its plan", None, None, &[]),
    route("post", "/entries/{id}/pause", "Take it out of the order", Some("Reason"), Some("Entry"), &[]),
    route("post", "/entries/{id}/release", "Put it back", None, Some("Entry"), &[]),
    route("post", "/entries/{id}/move", "Give it another place", Some("Move"), Some("Entry"), &[]),
    route("post", "/entries/{id}/kill", "Stop it", None, Some("Entry"), &[]),
    route("post", "/entries/{id}/resume", "Let a lost run go on", None, Some("Entry"), &[]),
    route("get", "/entries/{id}/events", "Its progress as server-sent events", None, None, &["last"]),
    route("post", "/controllers", "A controller has started", Some("NewController"), None, &[]),
    route("post", "/claims", "A controller asks for work", Some("ClaimCall"), Some("ClaimAnswer"), &[]),
    route("post", "/attempts/{id}", "News of an attempt", Some("AttemptCall"), Some("AttemptAnswer"), &[]),
    route("put", "/attempts/{id}/bundle", "The packed run of an attempt", None, None, &["token"]),
    route("get", "/hosts", "Hosts and controllers", None, Some("HostList"), &[]),
    route("post", "/hosts/{name}/clean", "Free a host from quarantine", Some("Reason"), Some("HostRow"), &[]),
    route(
        "get",
        "/runs",
        "Runs of a search or of a view; several tags are allowed",
        None,
        Some("RunLine"),
        &["q", "tag", "workload", "state", "kind", "order", "view", "limit", "after"],
    ),
    route("patch", "/runs/{id}", "Change tags, add a note", Some("RunChange"), None, &[]),
    route("delete", "/runs/{id}", "Put it into the trash", Some("Reason"), None, &[]),
    route("post", "/runs/{id}/restore", "Take it out of the trash", None, None, &[]),
    route("get", "/runs/{id}/bundle", "The packed run", None, None, &[]),
    route("get", "/views", "Your saved views of the archive", None, Some("SavedView"), &[]),
    route("post", "/views", "Give a search a name", Some("NewView"), Some("SavedView"), &[]),
    route("patch", "/views/{id}", "Rename or change a view", Some("ChangedView"), Some("SavedView"), &[]),
    route("delete", "/views/{id}", "Delete a view", None, None, &[]),
    route("get", "/series/{key}", "History of a series", None, Some("SeriesHistory"), &["of", "before"]),
    route("get", "/compare", "Runs beside one another", None, Some("ComparedRuns"), &["runs", "reference"]),
    route("get", "/audit", "Who has done what, the newest first", None, Some("AuditLine"), &["before"]),
    route("post", "/links", "A new link that opens a session", None, Some("Link"), &[]),
];

/// The types of the API.
#[derive(OpenApi)]
#[openapi(components(schemas(
    queue::api::QueueList,
    queue::api::Submission,
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
        let answer = match gives {
            Some(name) => json!({ "description": "The answer", "content": content(name) }),
            None => json!({ "description": "Done" }),
        };
        operation["responses"]["2XX"] = answer;
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

fn content(name: &str) -> Value {
    json!({ "application/json": { "schema": { "$ref": format!("#/components/schemas/{name}") } } })
}

/// Each method and path, for tests that ask all of them.
pub fn routes() -> Vec<(&'static str, &'static str)> {
    ROUTES.iter().map(|route| (route.method, route.path)).collect()
}
