//! The server: of one person on this machine (loopback, a link that works once), or of a team (TLS, accounts). A controller is beside it.

pub mod accounts;
mod controller_process;
pub mod database;
mod first_steps;

use std::io::{IsTerminal, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use archive::Archive;
use axum_server::tls_rustls::RustlsConfig;
use queue::LeaseWatch;
use queue::api::ServerFile;
use queue::arguments::{ServeArgs, TlsFiles};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use self::controller_process::ControllerProcess;
pub use self::controller_process::say;
use self::database::Opened;
use self::first_steps::{first_account, first_steps};
use crate::folder::HarnessFolder;
use crate::http::guard::new_link;
use crate::http::logins::Logins;
use crate::http::render::Pages;
use crate::http::router;
use crate::http::site::{ServerNames, Shared, Site};
use crate::secrets::{digest, new_secret};
use crate::service::Harness;
use crate::service::error::ServiceError;
use crate::store::SecretKind;
use crate::store::handle::StoreHandle;
use crate::tls::{ServerTls, read_files};

/// How often leases are looked at, runs that other programs may have changed, and the trash.
const LEASE_LOOK: Duration = Duration::from_secs(1);
const RUNS_LOOK: Duration = Duration::from_mins(1);
const TRASH_LOOK: Duration = Duration::from_hours(24);

/// Serves until a signal ends it.
pub fn serve(args: &ServeArgs) -> anyhow::Result<()> {
    anyhow::ensure!(
        args.tls.is_some() || args.listen.ip().is_loopback(),
        "{0} is no address of this machine alone: passwords and secrets would be on the network for everyone to read. Pass --tls CERTIFICATE,KEY; or listen on 127.0.0.1, and reach it with  ssh -L 7437:127.0.0.1:7437",
        args.listen
    );
    let tls = args.tls.as_ref().map(read_files).transpose()?;
    let folder = database::folder(&args.kept)?;
    let Some(_lock) = folder.lock("server.lock")? else { return another_link(&folder) };
    let opened = database::open_to_serve(&args.kept, &folder)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(serve_until_signal(args, folder, opened, tls))
}

/// A server runs already: it makes a new link.
fn another_link(folder: &HarnessFolder) -> anyhow::Result<()> {
    let ServerFile { url, token } =
        folder.server().context("another server is just starting here: try again")?;
    let request =
        ureq::post(format!("{url}/api/v1/links")).header("authorization", format!("Bearer {token}"));
    let text = request.send_empty().and_then(|mut answer| answer.body_mut().read_to_string());
    let text = text.with_context(|| format!("the server at {url} does not answer"))?;
    let link: serde_json::Value = serde_json::from_str(&text)?;
    tell_link(&format!("{url}{}", link["path"].as_str().unwrap_or_default()), "It is running already.");
    Ok(())
}

/// Prints the link, and opens it where there is a desktop.
fn tell_link(link: &str, note: &str) {
    let mut out = std::io::stdout();
    // The reader may have gone.
    let _ = writeln!(
        out,
        "Showdown's harness: open this link, which works once, within an hour:\n\n  {link}\n\n{note}"
    );
    let _ = out.flush();
    let has_desktop = std::env::var_os("DISPLAY").is_some() || std::env::var_os("WAYLAND_DISPLAY").is_some();
    if has_desktop && out.is_terminal() {
        let mut open = Command::new("xdg-open");
        // Without that program, the link is there to be copied.
        let _ = open.arg(link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    }
}

async fn serve_until_signal(
    args: &ServeArgs,
    folder: HarnessFolder,
    opened: Opened,
    tls: Option<ServerTls>,
) -> anyhow::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let store = StoreHandle::start(opened.database)?;
    let harness = Arc::new(Harness::new(store, Archive::new(&args.kept.runs), folder.clone()));
    if let Some(changes) = opened.changes {
        let told = Arc::clone(&harness);
        std::thread::Builder::new()
            .name("changes".to_owned())
            .spawn(move || changes.tell(|entry| told.tell(entry)))?;
    }
    // With TLS, this machine's own programs have a listener of their own: they need not trust the certificate.
    let own_address = if tls.is_some() { SocketAddr::from((Ipv4Addr::LOCALHOST, 0)) } else { args.listen };
    let listener = bound(own_address).await?;
    let address = listener.local_addr()?;
    let own = site(&harness, ServerNames::of_loopback(address, person_here()))?;
    let url = format!("http://{address}");
    let (person, controller) = (new_secret(), new_secret());
    keep_secrets(&own, &folder, &person, &controller).await?;
    folder.publish(&url, &person, &controller)?;
    let app = router(Arc::clone(&own)).into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, app).await });
    match tls {
        None => {
            let link = new_link(&own, None).await?;
            tell_link(&format!("{url}/link?secret={link}"), &first_steps(&args.kept, &here()?));
        }
        Some(tls) => serve_team(args, &harness, tls).await?,
    }
    tokio::spawn(look_after(Arc::clone(&own)));
    tokio::spawn(look_at_runs(Arc::clone(&own)));
    let mut taker = ControllerProcess { runs: args.kept.runs.clone(), folder, site: own, child: None };
    loop {
        tokio::select! {
            _ = interrupt.recv() => break,
            _ = terminate.recv() => break,
            () = taker.step(), if !args.no_controller => {}
        }
    }
    say("stopping: a run that goes on is interrupted, and keeps what it has measured");
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        () = taker.end() => {}
    }
    Ok(())
}

fn here() -> anyhow::Result<PathBuf> {
    std::env::current_dir().context("cannot find the working directory")
}

async fn bound(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on {address}: stop what has this port, or pass --listen ADDRESS:PORT")
    })
}

/// Listens with TLS.
async fn serve_team(args: &ServeArgs, harness: &Arc<Harness>, tls: ServerTls) -> anyhow::Result<()> {
    let listener = bound(args.listen).await?;
    let address = listener.local_addr()?;
    let names = ServerNames::with_tls(address, &tls.names, person_here());
    let url = format!("https://{}", names.hosts.first().map_or("", String::as_str));
    let site = site(harness, names)?;
    let config = RustlsConfig::from_config(tls.config);
    let app = router(Arc::clone(&site)).into_make_service_with_connect_info::<SocketAddr>();
    let server = axum_server::from_tcp_rustls(listener.into_std()?, config.clone())?;
    tokio::spawn(async move { server.serve(app).await });
    if let Some(files) = args.tls.clone() {
        tokio::spawn(read_again(files, config, signal(SignalKind::hangup())?));
    }
    // A log is read by others: only a terminal gets the link.
    if std::io::stdout().is_terminal() {
        let link = new_link(&site, None).await?;
        tell_link(&format!("{url}/link?secret={link}"), &first_steps(&args.kept, &here()?));
    } else {
        // The reader may have gone.
        let account = first_account(&args.kept, &here()?);
        let _ = writeln!(std::io::stdout(), "Showdown's harness: {url}\n\n{account}");
    }
    Ok(())
}

/// Reads the certificate again at each SIGHUP. A wrong one changes nothing.
async fn read_again(files: TlsFiles, config: RustlsConfig, mut hangup: tokio::signal::unix::Signal) {
    while hangup.recv().await.is_some() {
        match read_files(&files) {
            Ok(tls) => {
                config.reload_from_config(tls.config);
                say("showdown: the certificate was read again");
            }
            Err(error) => say(&format!("showdown: the certificate stays as it was: {error:#}")),
        }
    }
}

fn site(harness: &Arc<Harness>, names: ServerNames) -> anyhow::Result<Shared> {
    let pages = Pages::new().context("a template is wrong: report this as a bug")?;
    Ok(Arc::new(Site { harness: Arc::clone(harness), names, pages, logins: Logins::default() }))
}

/// The name of the user who starts it.
fn person_here() -> String {
    let name = std::env::var("USER").or_else(|_| std::env::var("LOGNAME"));
    name.ok()
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| format!("user {}", rustix::process::getuid().as_raw()))
}

/// Only digests are kept. Those of an earlier start of this directory are not valid any more; sessions of browsers stay, and so do the
/// secrets of other servers of the database.
async fn keep_secrets(
    site: &Shared,
    folder: &HarnessFolder,
    person: &str,
    controller: &str,
) -> Result<(), ServiceError> {
    let (of_person, of_controller) = (digest(person), digest(controller));
    let mut earlier = Vec::new();
    for file in [folder.server(), folder.server_of_controller()].into_iter().flatten() {
        earlier.push(digest(&file.token));
    }
    let name = site.names.person.clone();
    let own = format!("controller of {}", folder.name());
    site.harness
        .store()
        .transact(move |rows| {
            for old in earlier {
                rows.remove_secret(&old)?;
            }
            // A number of the database has a sign.
            let forever = i64::MAX as u64;
            rows.put_secret(&of_person, SecretKind::Person, &name, forever)?;
            Ok(rows.put_secret(&of_controller, SecretKind::OwnController, &own, forever)?)
        })
        .await
}

/// Ends leases of controllers that are silent, and empties the trash. A database that is away is told once, and when it is back.
async fn look_after(site: Shared) {
    let mut watch = LeaseWatch::default();
    let mut until_trash = Duration::ZERO;
    let mut is_away = false;
    loop {
        match site.harness.look(&mut watch).await {
            Ok(()) if is_away => {
                is_away = false;
                say("showdown: the database answers again");
            }
            Err(error) if !is_away => {
                is_away = true;
                say(&format!("showdown: {error}"));
            }
            _ => {}
        }
        if until_trash.is_zero() && !is_away {
            until_trash = TRASH_LOOK;
            if let Err(error) = site.harness.empty_trash().await {
                say(&format!("showdown: the trash cannot be emptied: {error}"));
            }
        }
        until_trash = until_trash.saturating_sub(LEASE_LOOK);
        sleep(LEASE_LOOK).await;
    }
}

/// Looks for runs that other programs have changed. A look that fails is repeated; a list says why.
async fn look_at_runs(site: Shared) {
    loop {
        sleep(RUNS_LOOK).await;
        let _ = site.harness.look_at_runs().await;
    }
}
