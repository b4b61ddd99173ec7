//! What a route returns: a page, a redirection, or why there is none. Problems have no frame, so that they ask the database nothing.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Redirect, Response};
use thiserror::Error;

/// What a route returns.
pub type Reply = Result<Response, Problem>;
/// Why a request has no page.
#[derive(Debug, Error)]
pub enum Problem {
    #[error("not found")]
    NotFound,
    /// Nobody is logged in, or the token is not that of the session.
    #[error("not allowed")]
    Forbidden,
    #[error("bad request")]
    BadRequest,
    #[error("the database: {0}")]
    Database(#[from] mysql_async::Error),
    #[error("a template: {0}")]
    Template(#[from] askama::Error),
    #[error("an uploaded file: {0}")]
    Upload(#[from] std::io::Error),
    #[error("the geocoder: {0}")]
    Geocoder(String),
}

#[derive(Template)]
#[template(path = "problem.html")]
struct Page {
    title: &'static str,
}

/// MariaDB's error for a transaction that it has rolled back because two waited for each other.
const DEADLOCK: u16 = 1_213;
/// A transaction that ends as a deadlock is begun again until it has been tried so often.
const MOST_ATTEMPTS: u32 = 5;

/// Whether a transaction is begun again after so many attempts.
pub fn is_tried_again<T>(outcome: &Result<T, Problem>, attempts: u32) -> bool {
    match outcome {
        Err(Problem::Database(mysql_async::Error::Server(error))) => {
            error.code == DEADLOCK && attempts < MOST_ATTEMPTS
        }
        _ => false,
    }
}

impl IntoResponse for Problem {
    #[expect(clippy::print_stderr, reason = "the log of a server is its standard error")]
    fn into_response(self) -> Response {
        let (status, title) = match self {
            Self::NotFound => (StatusCode::NOT_FOUND, "Not found"),
            Self::Forbidden => (StatusCode::FORBIDDEN, "Not allowed"),
            Self::BadRequest => (StatusCode::BAD_REQUEST, "Bad request"),
            Self::Database(_) | Self::Template(_) | Self::Upload(_) | Self::Geocoder(_) => {
                eprintln!("{self}");
                (StatusCode::INTERNAL_SERVER_ERROR, "Out of order")
            }
        };
        let page = Page { title }.render().unwrap_or_default();
        (status, Html(page)).into_response()
    }
}

/// A page of the site.
pub fn page(template: &impl Template) -> Reply {
    Ok(Html(template.render()?).into_response())
}

/// Where the browser goes after a change.
pub fn redirect(place: &str) -> Response {
    Redirect::to(place).into_response()
}
