//! The history of a series, as a page and in the API.

use axum::Json;
use axum::extract::{Path, Query, State};
use serde::Deserialize;
use serde_json::json;

use super::chart::chart;
use super::pages::{Page, shown};
use super::site::Shared;
use crate::series::{self, MOST_RUNS, SeriesHistory};
use crate::service::error::ServiceError;

/// The latest time of the query, in milliseconds since 1970: the archive's numbers have a sign.
const LATEST_MS: u64 = i64::MAX as u64 / 1000;

/// What of a series is shown.
#[derive(Debug, Deserialize)]
pub struct SeriesQuery {
    /// The name of a value, such as `nginx / apache`; the first one if missing.
    of: Option<String>,
    /// Runs that began before this, in milliseconds since 1970.
    before: Option<u64>,
}

async fn found(site: &Shared, key: String, query: &SeriesQuery) -> Result<SeriesHistory, ServiceError> {
    let before = match query.before {
        Some(before) if before > LATEST_MS => {
            return Err(ServiceError::Bad(format!(
                "before={before} is no time: use milliseconds since 1970, as earlier_before has them"
            )));
        }
        before => before,
    };
    // The oldest one is for its facts only.
    let runs = site.harness.series(key.clone(), before, MOST_RUNS + 1).await?;
    Ok(series::history(&key, runs, query.of.as_deref()))
}

/// `GET /series/KEY`
pub async fn page(
    State(site): State<Shared>,
    Path(key): Path<String>,
    Query(query): Query<SeriesQuery>,
) -> Page {
    let history = shown(&site, found(&site, key, &query).await)?;
    let context = json!({ "chart": chart(&history), "history": history, "before": query.before });
    Ok(site.pages.page("series.html", &context))
}

/// `GET series/KEY`
pub async fn history(
    State(site): State<Shared>,
    Path(key): Path<String>,
    Query(query): Query<SeriesQuery>,
) -> Result<Json<SeriesHistory>, ServiceError> {
    Ok(Json(found(&site, key, &query).await?))
}
