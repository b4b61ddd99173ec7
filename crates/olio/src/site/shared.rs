//! What all requests share: settings, connections, and the two kinds of replies. Routes are left to `mod.rs`.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::{Html, IntoResponse, Redirect, Response};
use mysql_async::{Conn, Pool};

use super::memcached::Memcached;
use super::problem::Problem;
use super::settings::Settings;

/// What all requests share.
pub struct Site {
    pub settings: Settings,
    pub database: Pool,
    pub cache: Memcached,
}

/// What a route returns.
pub type Reply = Result<Response, Problem>;
/// What a route gets of all requests.
pub type Shared = State<Arc<Site>>;

impl Site {
    /// A connection to the database, when one is free.
    pub async fn connection(&self) -> Result<Conn, Problem> {
        Ok(self.database.get_conn().await?)
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
