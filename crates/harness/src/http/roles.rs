//! Which role a request needs. What is not in the list needs an admin, so a new route is closed until somebody opens it.

use axum::http::Method;

use crate::people::Role;

/// Paths that need no session: those that open one, and what has no content of anybody.
pub fn is_open(path: &str) -> bool {
    path == "/link" || path == "/login" || path == "/healthz" || path.starts_with("/assets/")
}

/// What a controller reaches: claims, its attempts, and the proof that its host is clean.
pub fn is_for_controllers(method: &Method, path: &str) -> bool {
    is_only_for_controllers(path)
        || (*method == Method::POST && path.starts_with("/api/v1/hosts/") && path.ends_with("/clean"))
}

/// What no person reaches: it speaks for a run.
pub fn is_only_for_controllers(path: &str) -> bool {
    let Some(path) = path.strip_prefix("/api/v1/") else { return false };
    path == "claims" || path == "controllers" || path.starts_with("attempts/")
}

/// The least role that may ask this. Whether an entry is one's own is asked where it is changed.
pub fn needed(method: &Method, path: &str) -> Role {
    let path = path.strip_prefix("/api/v1").unwrap_or(path);
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    match (is_read, parts.as_slice()) {
        (true, ["people" | "audit", ..]) => Role::Admin,
        (true, _) | (false, ["account" | "views", ..] | ["logout"]) => Role::Viewer,
        (
            false,
            ["entries" | "sequences"]
            | ["entries", "difference"]
            | ["entries", _, "pause" | "release" | "kill" | "resume"]
            | ["runs", _, "note" | "tags"],
        ) => Role::Submitter,
        (
            false,
            ["entries", _, "move" | "first" | "last" | "before"]
            | ["hosts", _, "clean"]
            | ["shifts", _, "abort"],
        ) => Role::Operator,
        (false, ["runs", _]) if *method == Method::PATCH => Role::Submitter,
        (false, _) => Role::Admin,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_needs_the_role_of_the_table_in_the_documents() {
        for (method, path, role) in [
            (Method::GET, "/", Role::Viewer),
            (Method::GET, "/api/v1/entries", Role::Viewer),
            (Method::POST, "/entries", Role::Submitter),
            (Method::POST, "/api/v1/entries/7/kill", Role::Submitter),
            (Method::POST, "/api/v1/sequences", Role::Submitter),
            (Method::PATCH, "/api/v1/runs/r", Role::Submitter),
            (Method::POST, "/runs/r/note", Role::Submitter),
            (Method::POST, "/entries/7/first", Role::Operator),
            (Method::POST, "/api/v1/entries/7/move", Role::Operator),
            (Method::POST, "/hosts/m/clean", Role::Operator),
            (Method::GET, "/shifts/r", Role::Viewer),
            (Method::POST, "/shifts/run-haproxy-admin-sock-web/abort", Role::Operator),
            (Method::POST, "/runs/r/delete", Role::Admin),
            (Method::DELETE, "/api/v1/runs/r", Role::Admin),
            (Method::POST, "/api/v1/links", Role::Admin),
            (Method::GET, "/people", Role::Admin),
            (Method::GET, "/audit", Role::Admin),
            (Method::GET, "/api/v1/audit", Role::Admin),
            (Method::POST, "/people", Role::Admin),
            (Method::POST, "/account/password", Role::Viewer),
            (Method::POST, "/views/7/delete", Role::Viewer),
            (Method::PATCH, "/api/v1/views/7", Role::Viewer),
            (Method::POST, "/what/is/new", Role::Admin),
        ] {
            assert_eq!(needed(&method, path), role, "{method} {path}");
        }
    }
}
