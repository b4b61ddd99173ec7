//! The script and the style of the pages, which `web/` builds and `web/scripts/build.mjs` commits here.

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

const SCRIPT: &str = include_str!("../../assets/harness.js");
const STYLE: &str = include_str!("../../assets/harness.css");
const ICON: &str = include_str!("../../assets/icon.svg");

/// The script, the style or the icon of the pages.
pub async fn asset(Path(name): Path<String>) -> Response {
    let (kind, text) = match name.as_str() {
        "harness.js" => ("text/javascript; charset=utf-8", SCRIPT),
        "harness.css" => ("text/css; charset=utf-8", STYLE),
        "icon.svg" => ("image/svg+xml", ICON),
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    // A new version of the program has new files under the same names.
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")], text).into_response()
}
