//! The reference implementation: the routes of `workloads/olio/contract.md` in axum. It is the oracle of the pages of all others.
//!
//! | file | content |
//! |---|---|
//! | `memcached.rs` | the few commands of memcached that the site needs |
//! | `sessions.rs` | where sessions are kept |
//! | `visitor.rs` | sessions, tokens, and what a page's frame shows of the visitor |
//! | `listing.rs` | lists of events, and the links to their pages |
//! | `home.rs`, `events.rs`, `event_changes.rs`, `tags.rs`, `persons.rs`, `person_changes.rs`, `login.rs` | the routes |
//! | `form.rs`, `upload.rs` | fields, their checks, files and thumbnails |
//! | `shared.rs` | settings and connections |
//! | `replies.rs` | pages, redirections, and problems |

mod event_changes;
mod events;
mod form;
mod home;
mod listing;
mod login;
mod memcached;
mod person_changes;
mod persons;
mod replies;
mod sessions;
mod shared;
mod tags;
mod upload;
mod visitor;

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use tokio::net::{TcpListener, UnixListener};

use replies::Problem;
pub use sessions::SessionStore;
pub use shared::Settings;
use shared::Site;

/// The most that a form with its files may have, as nginx has it.
const MOST_BODY_BYTES: usize = 8 << 20;

/// Serves until the process ends.
pub fn serve(socket: &Path, workers: usize) -> Result<()> {
    let settings = Settings::from_environment()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let site = Arc::new(Site::new(settings, workers));
        // A socket that an earlier process left is in the way.
        let _ = std::fs::remove_file(socket);
        let listener = UnixListener::bind(socket)
            .with_context(|| format!("{} cannot be listened on", socket.display()))?;
        open_to_the_web_server(socket)?;
        Ok(axum::serve(listener, routes(site)).await?)
    })
}

/// Serves on a free port of the loopback address until the process ends, without a web server before it: to be compared with others.
/// Returns the port.
pub fn serve_beside(settings: Settings) -> Result<u16> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        runtime.block_on(async {
            let site = Arc::new(Site::new(settings, 2));
            axum::serve(listener, routes(site)).await
        })
    });
    Ok(port)
}

/// nginx may run as another user; the directory says who may come in.
fn open_to_the_web_server(socket: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o777))
}

fn routes(site: Arc<Site>) -> Router {
    Router::new()
        .route("/", get(home::show))
        .route("/login", post(login::log_in))
        .route("/logout", post(login::log_out))
        .route("/events/new", get(event_changes::form))
        .route("/events", post(event_changes::add))
        .route("/events/{id}", get(events::show))
        .route("/events/{id}/attend", post(events::attend))
        .route("/events/{id}/unattend", post(events::unattend))
        .route("/events/{id}/comments", post(event_changes::comment))
        .route("/events/{id}/rating", post(event_changes::rate))
        .route("/events/{id}/delete", post(event_changes::delete))
        .route("/tags", post(tags::search))
        .route("/tags/{tag}", get(tags::show))
        .route("/persons/new", get(person_changes::form))
        .route("/persons", post(person_changes::add))
        .route("/persons/{name}", get(persons::show))
        .route("/friends", post(person_changes::friendship))
        .fallback(async || Problem::NotFound)
        .layer(DefaultBodyLimit::max(MOST_BODY_BYTES))
        .with_state(site)
}
