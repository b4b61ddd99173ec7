//! Pages of runs on live traffic, and the button that ends one. The role that the button needs is in `roles`.

use axum::Extension;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect};
use serde_json::json;

use super::api::run_id;
use super::pages::{Page, shown};
use super::site::Shared;
use crate::people::{Person, Role};

/// `GET /shifts`
pub async fn list(State(site): State<Shared>, Extension(person): Extension<Person>) -> Page {
    let list = shown(&site, site.harness.shifts().await)?;
    Ok(site.pages.page("shifts.html", &json!({ "list": list, "may_abort": person.role >= Role::Operator })))
}

/// `GET /shifts/ID`
pub async fn page(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Path(id): Path<String>,
) -> Page {
    let shift = shown(&site, site.harness.shift(shown(&site, run_id(&id))?).await)?;
    Ok(site.pages.page("shift.html", &json!({ "shift": shift, "may_abort": person.role >= Role::Operator })))
}

/// `POST /shifts/NAME/abort`
pub async fn abort(
    State(site): State<Shared>,
    Extension(person): Extension<Person>,
    Path(name): Path<String>,
) -> Page {
    shown(&site, site.harness.abort_shift(name, person).await)?;
    Ok(Redirect::to("/shifts").into_response())
}
