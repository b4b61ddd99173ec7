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
use axum::response::{IntoResponse, Redirect, Response};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::roles::{is_for_controllers, is_only_for_controllers, is_open, needed};
use super::site::{Scheme, ServerNames, Shared, Site};
use crate::people::{Person, Role, Who};
use crate::secrets::{digest, new_secret, unix_ms};
use crate::service::error::ServiceError;
use crate::store::SecretKind;

/// How long the session of a link, the link, and the session of an account last, milliseconds.
const SESSION_MS: u64 = 30 * 24 * 3600 * 1000;
const LINK_MS: u64 = 3600 * 1000;
const LOGIN_MS: u64 = 12 * 3600 * 1000;

/// What a page may load and do: nothing but this server's own files.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Whether a request that changes something comes from a page of this server.
fn is_from_own_page(names: &ServerNames, headers: &HeaderMap) -> bool {
    if let Some(site) = headers.get("sec-fetch-site") {
        return site == "same-origin";
    }
    let (Some(origin), Some(host)) = (headers.get(header::ORIGIN), headers.get(header::HOST)) else {
        return false;
    };
    let origin = origin.to_str().ok().and_then(|origin| origin.strip_prefix(names.scheme.prefix()));
    origin.is_some_and(|origin| origin.as_bytes() == host.as_bytes())
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}

/// Lets a request through, or says why not; and adds to each answer what a browser must know.
pub async fn guard(State(site): State<Shared>, request: Request, next: Next) -> Response {
    let (mut head, body) = request.into_parts();
    let answer = match admit(&site, &head).await {
        Ok(admitted) => {
            if let Some((who, shown)) = admitted {
                if let Who::Person(person) = &who {
                    head.extensions.insert(person.clone());
                }
                head.extensions.insert(who);
                head.extensions.insert(shown);
            }
            next.run(Request::from_parts(head, body)).await
        }
        Err(refused) => *refused,
    };
    with_headers(answer)
}

/// Who asks; none where anybody may.
async fn admit(site: &Shared, head: &Parts) -> Result<Option<(Who, ShownSecret)>, Box<Response>> {
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
    if is_change && secret.is_none() && !is_from_own_page(&site.names, headers) {
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
    let (secret, kinds) = match (secret, site.names.session(headers)) {
        (Some(secret), _) => (secret, &OF_PROGRAMS[..]),
        (None, Some(session)) => (session, &OF_BROWSERS[..]),
        (None, None) => return Err(unknown(site, head, "this page needs a session")),
    };
    let shown = ShownSecret { digest: digest(secret), kinds };
    match known(site, &shown).await {
        Ok(Some(who)) => match why_not(&who, method, path) {
            None => Ok(Some((who, shown))),
            Some(why) => Err(refusal(site, is_api, StatusCode::FORBIDDEN, &why)),
        },
        Ok(None) => Err(unknown(site, head, "the secret or the session is not valid any more")),
        Err(error) => Err(Box::new(error.into_response())),
    }
}

/// Secrets in a header, and in a cookie.
const OF_PROGRAMS: [SecretKind; 4] =
    [SecretKind::Person, SecretKind::Controller, SecretKind::OwnController, SecretKind::Token];
const OF_BROWSERS: [SecretKind; 2] = [SecretKind::Session, SecretKind::Login];

/// What somebody has shown with a request. A stream asks again whether it is valid.
#[derive(Clone, Debug)]
pub struct ShownSecret {
    digest: [u8; 32],
    kinds: &'static [SecretKind],
}

/// The person or controller whose secret this is; none where the secret is not valid, or not any more.
pub async fn known(site: &Site, shown: &ShownSecret) -> Result<Option<Who>, ServiceError> {
    let now = unix_ms();
    let (digested, kinds) = (shown.digest, shown.kinds);
    let found = site.harness.store().transact(move |rows| {
        for kind in kinds {
            let Some(name) = rows.secret(&digested, *kind, now)? else { continue };
            let who = match kind {
                SecretKind::Controller | SecretKind::OwnController => Who::Controller(name),
                SecretKind::Login | SecretKind::Token => {
                    // The account may have another role since the login.
                    let role = rows.account(&name)?.map_or(Role::Closed, |account| account.role);
                    Who::Person(Person { name, role, has_account: true })
                }
                SecretKind::Person | SecretKind::Session | SecretKind::Link => {
                    Who::Person(Person { name, role: Role::Admin, has_account: false })
                }
            };
            return Ok::<_, ServiceError>(Some(who));
        }
        Ok(None)
    });
    found.await
}

/// Why a request is refused to somebody; none where it is allowed.
fn why_not(who: &Who, method: &Method, path: &str) -> Option<String> {
    match who {
        Who::Controller(_) if is_for_controllers(method, path) => None,
        Who::Controller(_) => {
            Some("a controller's secret reaches claims and its own attempts only".to_owned())
        }
        Who::Person(_) if is_only_for_controllers(path) => Some(
            "only a controller asks for work: an admin makes a secret for it on the page of people"
                .to_owned(),
        ),
        Who::Person(Person { role, .. }) => {
            let needed = needed(method, path);
            if *role >= needed {
                return None;
            }
            Some(format!("that needs the role {needed}, and yours is {role}: ask an admin"))
        }
    }
}

/// Nobody known asks: a page leads to the login, where there is one.
#[expect(clippy::unnecessary_box_returns, reason = "the error of a function is small")]
fn unknown(site: &Shared, head: &Parts, why: &str) -> Box<Response> {
    let path = head.uri.path();
    let is_api = path.starts_with("/api/");
    let is_page = head.method == Method::GET && !is_api;
    match site.names.scheme {
        Scheme::Https if is_page => {
            let to = utf8_percent_encode(&head.uri.to_string(), NON_ALPHANUMERIC).to_string();
            Box::new(Redirect::to(&format!("/login?to={to}")).into_response())
        }
        Scheme::Https => {
            let why = format!("{why}: log in, or make a new secret on the page of your account");
            refusal(site, is_api, StatusCode::UNAUTHORIZED, &why)
        }
        Scheme::Http => {
            let why =
                format!("{why}: open the link that `showdown serve` prints; run it again for a new one");
            refusal(site, is_api, StatusCode::UNAUTHORIZED, &why)
        }
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
    Ok(site.names.cookie(&secret, SESSION_MS / 1000))
}

/// Opens a session for the owner of an account who has shown the password; the value of the cookie.
pub async fn open_login(site: &Site, account: String) -> Result<String, ServiceError> {
    let secret = new_secret();
    let of_session = digest(&secret);
    let now = unix_ms();
    site.harness
        .store()
        .transact(move |rows| {
            rows.put_secret(&of_session, SecretKind::Login, &account, now + LOGIN_MS)?;
            Ok::<_, ServiceError>(rows.audit(now, &account, "has logged in")?)
        })
        .await?;
    Ok(site.names.cookie(&secret, LOGIN_MS / 1000))
}

/// Ends the session of a browser; the value of the cookie.
pub async fn end_session(site: &Site, headers: &HeaderMap) -> Result<String, ServiceError> {
    if let Some(secret) = site.names.session(headers) {
        let digested = digest(secret);
        site.harness
            .store()
            .transact(move |rows| Ok::<_, ServiceError>(rows.remove_secret(&digested)?))
            .await?;
    }
    Ok(site.names.cookie("", 0))
}
