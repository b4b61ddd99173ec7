//! Who may do what, and what every answer forbids a browser. Each request passes here once.
//!
//! - The host of a request must be one of this server's names: a page of another name that resolves to this address gets nothing.
//! - A request that changes something must come from a page of this server, or show a secret in a header: browsers say where a
//!   request comes from (`Sec-Fetch-Site`, else `Origin`), and no page of others can add a header.
//! - A session is a cookie that scripts cannot read and other sites do not send.

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::site::{Shared, Site};
use crate::secrets::{digest, new_secret, unix_ms};
use crate::service::error::ServiceError;
use crate::store::{SecretKind, Transaction};

/// How long a browser's session and a link last, milliseconds.
const SESSION_MS: u64 = 30 * 24 * 3600 * 1000;
const LINK_MS: u64 = 3600 * 1000;

/// What a page may load and do: nothing but this server's own files.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// A person, by name.
    Person(String),
    /// A controller.
    Controller,
}

/// Whether a request that changes something comes from a page of this server.
fn is_from_own_page(headers: &HeaderMap) -> bool {
    if let Some(site) = headers.get("sec-fetch-site") {
        return site == "same-origin";
    }
    let (Some(origin), Some(host)) = (headers.get(header::ORIGIN), headers.get(header::HOST)) else {
        return false;
    };
    let origin = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
    origin.is_some_and(|origin| origin.as_bytes() == host.as_bytes())
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}

/// Paths that need no session: the link that opens one, and what has no content of anybody.
fn is_open(path: &str) -> bool {
    path == "/link" || path == "/healthz" || path.starts_with("/assets/")
}

/// What a controller reaches: claims, its attempts, and the proof that its host is clean.
fn is_for_controllers(method: &Method, path: &str) -> bool {
    let Some(path) = path.strip_prefix("/api/v1/") else { return false };
    path == "claims"
        || path == "controllers"
        || path.starts_with("attempts/")
        || (*method == Method::POST && path.starts_with("hosts/") && path.ends_with("/clean"))
}

/// Lets a request through, or says why not; and adds to each answer what a browser must know.
pub async fn guard(State(site): State<Shared>, request: Request, next: Next) -> Response {
    let (mut head, body) = request.into_parts();
    let answer = match admit(&site, &head).await {
        Ok(who) => {
            if let Some(who) = who {
                head.extensions.insert(who);
            }
            next.run(Request::from_parts(head, body)).await
        }
        Err(refused) => *refused,
    };
    with_headers(answer)
}

/// Who asks; none where anybody may.
async fn admit(site: &Shared, head: &Parts) -> Result<Option<Who>, Box<Response>> {
    let (headers, method, path) = (&head.headers, &head.method, head.uri.path());
    let is_api = path.starts_with("/api/");
    if !site.names.has_host(headers) {
        return Err(refusal(
            site,
            is_api,
            StatusCode::MISDIRECTED_REQUEST,
            "this server has another name: use the address that it has printed",
        ));
    }
    let is_change = !matches!(*method, Method::GET | Method::HEAD);
    let secret = bearer(headers);
    if is_change && secret.is_none() && !is_from_own_page(headers) {
        return Err(refusal(
            site,
            is_api,
            StatusCode::FORBIDDEN,
            "a page of another site asks for a change: nothing was changed",
        ));
    }
    if is_open(path) {
        return Ok(None);
    }
    let (digested, kinds) = match (secret, site.names.session(headers)) {
        (Some(secret), _) => (digest(secret), vec![SecretKind::Person, SecretKind::Controller]),
        (None, Some(session)) => (digest(session), vec![SecretKind::Session]),
        (None, None) => {
            return Err(refusal(
                site,
                is_api,
                StatusCode::UNAUTHORIZED,
                "open the link that `showdown serve` prints; run it again for a new one",
            ));
        }
    };
    let now = unix_ms();
    let known = site.harness.store().transact(move |rows| {
        for kind in kinds {
            if let Some(name) = rows.secret(&digested, kind, now)? {
                return Ok::<_, ServiceError>(Some((kind, name)));
            }
        }
        Ok(None)
    });
    match known.await {
        Ok(Some((SecretKind::Controller, _))) if is_for_controllers(method, path) => {
            Ok(Some(Who::Controller))
        }
        Ok(Some((SecretKind::Controller, _))) => Err(refusal(
            site,
            is_api,
            StatusCode::FORBIDDEN,
            "a controller's secret reaches claims and its own attempts only",
        )),
        Ok(Some((_, name))) => Ok(Some(Who::Person(name))),
        Ok(None) => Err(refusal(
            site,
            is_api,
            StatusCode::UNAUTHORIZED,
            "the secret is not valid any more: run `showdown serve` again for a new link",
        )),
        Err(error) => Err(Box::new(error.into_response())),
    }
}

#[expect(clippy::unnecessary_box_returns, reason = "the error of a function is small")]
fn refusal(site: &Shared, is_api: bool, status: StatusCode, why: &str) -> Box<Response> {
    let body = if is_api {
        axum::Json(queue::api::Problem { error: why.to_owned() }).into_response()
    } else {
        site.pages.message("Not open", why)
    };
    Box::new((status, body).into_response())
}

/// A response keeps a policy that it has: a report has its own.
fn with_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    let fixed = [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// A new link that opens one session; its secret.
pub async fn new_link(site: &Site, until_ms: Option<u64>) -> Result<String, ServiceError> {
    let secret = new_secret();
    let (digested, name) = (digest(&secret), site.names.person.clone());
    let until = unix_ms() + until_ms.unwrap_or(LINK_MS);
    site.harness
        .store()
        .transact(move |rows| {
            Ok::<_, ServiceError>(rows.put_secret(&digested, SecretKind::Link, &name, until)?)
        })
        .await?;
    Ok(secret)
}

/// Opens a session for a link, which is used up; the value of the cookie.
pub async fn open_session(site: &Site, link: &str) -> Result<String, ServiceError> {
    let secret = new_secret();
    let (of_link, of_session) = (digest(link), digest(&secret));
    let now = unix_ms();
    site.harness
        .store()
        .transact(move |rows| {
            let Some(name) = rows.secret(&of_link, SecretKind::Link, now)? else {
                return Err(ServiceError::Forbidden(
                    "this link has been used, or is too old: run `showdown serve` again for a new one"
                        .to_owned(),
                ));
            };
            rows.remove_secret(&of_link)?;
            rows.put_secret(&of_session, SecretKind::Session, &name, now + SESSION_MS)?;
            rows.audit(now, &name, "a browser has opened a session")?;
            Ok(())
        })
        .await?;
    let seconds = SESSION_MS / 1000;
    Ok(format!("{}={secret}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}", site.names.cookie))
}
