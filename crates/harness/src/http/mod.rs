//! The server of HTTP: pages, the API, and what guards both.

pub mod api;
pub mod assets;
pub mod chart;
pub mod events;
pub mod guard;
pub mod login;
pub mod logins;
pub mod openapi;
pub mod pages;
pub mod people;
pub mod render;
pub mod roles;
pub mod series;
pub mod shifts;
pub mod site;
pub mod uploads;
pub mod views;

use std::sync::Arc;

use axum::body::to_bytes;
use axum::extract::DefaultBodyLimit;
use axum::http::Uri;
use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, patch, post, put};
use axum::{Json, Router, middleware};
use queue::api::{MOST_PLAN_BYTES, Problem};

use self::site::Shared;
use crate::service::error::ServiceError;

/// The largest body but for bundles: a plan as JSON or as a form, in which each byte may take several.
const MOST_BODY_BYTES: usize = 4 * MOST_PLAN_BYTES;

/// All routes. `openapi.rs` lists those of the API, and a test compares.
pub fn router(site: Shared) -> Router {
    let api = Router::new()
        .route("/entries", get(api::list).post(api::submit))
        .route("/sequences", post(api::submit_sequence))
        .route("/entries/{id}", get(api::entry))
        .route("/entries/{id}/plan", get(api::plan))
        .route("/entries/{id}/pause", post(api::pause))
        .route("/entries/{id}/release", post(api::release))
        .route("/entries/{id}/move", post(api::place))
        .route("/entries/{id}/kill", post(api::kill))
        .route("/entries/{id}/resume", post(api::resume))
        .route("/entries/{id}/events", get(events::stream))
        .route("/controllers", post(api::register))
        .route("/claims", post(api::claim))
        .route("/attempts/{id}", post(api::attempt))
        .route("/attempts/{id}/bundle", put(uploads::bundle).layer(DefaultBodyLimit::disable()))
        .route("/hosts", get(api::hosts))
        .route("/hosts/{name}/clean", post(api::clean_host))
        .route("/runs", get(views::runs))
        .route("/runs/{id}", patch(api::change_run).delete(api::delete_run))
        .route("/runs/{id}/restore", post(api::restore_run))
        .route("/runs/{id}/bundle", get(uploads::download))
        .route("/views", get(views::list).post(views::add))
        .route("/views/{id}", patch(views::change).delete(views::remove))
        .route("/series/{key}", get(series::history))
        .route("/compare", get(api::compare))
        .route("/audit", get(people::audit_lines))
        .route("/links", post(api::link))
        .fallback(no_route)
        .layer(middleware::map_response(as_problem));
    Router::new()
        .route("/", get(pages::queue))
        .route("/entries", post(pages::submit))
        .route("/entries/new", get(pages::new_entry))
        .route("/entries/difference", post(pages::difference))
        .route("/entries/{id}", get(pages::entry))
        .route("/entries/{id}/again", get(pages::again))
        .route("/entries/{id}/{order}", post(pages::order))
        .route("/archive", get(views::archive))
        .route("/archive.csv", get(views::csv))
        .route("/views", post(views::save))
        .route("/views/{id}", get(views::open))
        .route("/views/{id}/name", post(views::rename))
        .route("/views/{id}/search", post(views::replace))
        .route("/views/{id}/delete", post(views::delete))
        .route("/trash", get(pages::trash))
        .route("/compare", get(pages::compare))
        .route("/series/{key}", get(series::page))
        .route("/hosts", get(pages::hosts))
        .route("/hosts/{name}/clean", post(pages::clean_host))
        .route("/shifts", get(shifts::list))
        .route("/shifts/{id}", get(shifts::page))
        .route("/shifts/{id}/abort", post(shifts::abort))
        .route("/runs/{id}", get(pages::run))
        .route("/runs/{id}/report", get(pages::report))
        .route("/runs/{id}/file", get(pages::file))
        .route("/runs/{id}/again", get(pages::run_again))
        .route("/runs/{id}/note", post(pages::note))
        .route("/runs/{id}/tags", post(pages::tags))
        .route("/runs/{id}/delete", post(pages::delete))
        .route("/runs/{id}/restore", post(pages::restore))
        .route("/link", get(pages::link).post(pages::open_session))
        .route("/login", get(login::page).post(login::log_in))
        .route("/logout", post(login::log_out))
        .route("/account", get(login::account))
        .route("/account/password", post(login::change_password))
        .route("/account/secret", post(login::new_secret))
        .route("/account/secret/remove", post(login::remove_secret))
        .route("/people", get(people::page).post(people::add))
        .route("/people/{name}/role", post(people::change_role))
        .route("/people/{name}/password", post(people::set_password))
        .route("/people/controllers", post(people::new_controller))
        .route("/people/controllers/{name}/remove", post(people::remove_controller))
        .route("/audit", get(people::audit))
        .route("/healthz", get(api::health))
        .route("/assets/{name}", get(assets::asset))
        .nest("/api/v1", api)
        .layer(DefaultBodyLimit::max(MOST_BODY_BYTES))
        .layer(middleware::from_fn_with_state(Arc::clone(&site), guard::guard))
        .with_state(site)
}

async fn no_route(uri: Uri) -> ServiceError {
    ServiceError::NotFound(format!("there is no route {uri} in the API: see openapi.json"))
}

/// The longest text of a refusal.
const MOST_REFUSAL_BYTES: usize = 16 << 10;

/// A refusal of the library that reads requests is a text: clients of the API get the same JSON as for each other one.
async fn as_problem(response: Response) -> Response {
    let media = response.headers().get(CONTENT_TYPE);
    let is_text = media.is_none_or(|media| media.as_bytes().starts_with(b"text/plain"));
    if !response.status().is_client_error() || !is_text {
        return response;
    }
    let (parts, body) = response.into_parts();
    let text = to_bytes(body, MOST_REFUSAL_BYTES).await.unwrap_or_default();
    let mut error = String::from_utf8_lossy(&text).trim().to_owned();
    if error.is_empty() {
        error = format!("{}: see openapi.json", parts.status);
    }
    let mut problem = (parts.status, Json(Problem { error })).into_response();
    if let Some(allow) = parts.headers.get(ALLOW) {
        problem.headers_mut().insert(ALLOW, allow.clone());
    }
    problem
}

impl IntoResponse for ServiceError {
    fn into_response(self) -> Response {
        let status = self.status();
        let mut response = (status, Json(Problem { error: self.to_string() })).into_response();
        if status == axum::http::StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert("retry-after", axum::http::HeaderValue::from_static("2"));
        }
        response
    }
}
