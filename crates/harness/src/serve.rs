//! The server of one person on one machine: loopback, SQLite, a link that works once, and a controller beside it.

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use archive::Archive;
use queue::LeaseWatch;
use queue::api::ServerFile;
use rustix::process::{Pid, Signal, kill_process};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use crate::folder::HarnessFolder;
use crate::http::guard::new_link;
use crate::http::render::Pages;
use crate::http::router;
use crate::http::site::{ServerNames, Shared, Site};
use crate::secrets::{digest, new_secret};
use crate::service::Harness;
use crate::service::error::ServiceError;
use crate::store::handle::StoreHandle;
use crate::store::sqlite::Sqlite;
use crate::store::{SecretKind, Transaction};

/// How often leases are looked at, and the trash.
const LEASE_LOOK: Duration = Duration::from_secs(1);
const TRASH_LOOK: Duration = Duration::from_hours(24);

/// How long the controller has to end its run.
const MOST_ENDING: Duration = Duration::from_mins(1);

/// The pause before a controller that has ended is started again.
const BEFORE_RESTART: Duration = Duration::from_secs(1);

/// Options of `showdown serve`.
#[derive(clap::Args, Debug)]
pub struct ServeArgs {
    /// Use this directory of runs
    #[arg(long, value_name = "DIR", env = "SHOWDOWN_RUNS", default_value = "runs")]
    runs: PathBuf,
    /// Listen on this address of this machine
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7437")]
    listen: SocketAddr,
    /// Start no controller: another program takes the runs
    #[arg(long)]
    no_controller: bool,
}

/// Prints a line on standard error. A closed one is ignored.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Serves until a signal ends it.
pub fn serve(args: &ServeArgs) -> anyhow::Result<()> {
    anyhow::ensure!(
        args.listen.ip().is_loopback(),
        "{} is no address of this machine alone, and there is no login yet: listen on 127.0.0.1, and reach it with  ssh -L 7437:127.0.0.1:7437",
        args.listen
    );
    let folder =
        HarnessFolder::create(&args.runs).with_context(|| format!("cannot use {}", args.runs.display()))?;
    let Some(_lock) = folder.lock("server.lock")? else { return another_link(&folder) };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(serve_until_signal(args, folder))
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

async fn serve_until_signal(args: &ServeArgs, folder: HarnessFolder) -> anyhow::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let listener = TcpListener::bind(args.listen).await.with_context(|| {
        format!("cannot listen on {}: stop what has this port, or pass --listen 127.0.0.1:PORT", args.listen)
    })?;
    let address = listener.local_addr()?;
    let site = site(args, folder.clone(), address)?;
    let (person, controller) = (new_secret(), new_secret());
    keep_secrets(&site, &person, &controller).await?;
    let url = format!("http://{address}");
    folder.publish(&url, &person, &controller)?;
    let link = new_link(&site, None).await?;
    let next = "Queue runs:  showdown submit compare nginx apache --quick\nWatch them:  showdown queue    showdown watch ENTRY\n\nCtrl-C stops the server, and interrupts a run that goes on.";
    tell_link(&format!("{url}/link?secret={link}"), next);

    let app = router(Arc::clone(&site));
    tokio::spawn(async move { axum::serve(listener, app).await });
    tokio::spawn(look_after(Arc::clone(&site)));
    let mut taker = ControllerProcess { runs: args.runs.clone(), folder, site, child: None };
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

fn site(args: &ServeArgs, folder: HarnessFolder, address: SocketAddr) -> anyhow::Result<Shared> {
    let store = StoreHandle::start(Sqlite::open(&folder.database())?)?;
    let port = address.port();
    let mut hosts = vec![address.to_string()];
    for name in ["127.0.0.1", "localhost", "[::1]"] {
        hosts.push(format!("{name}:{port}"));
    }
    let names = ServerNames { hosts, person: person_here(), cookie: format!("showdown-session-{port}") };
    let pages = Pages::new().context("a template is wrong: report this as a bug")?;
    Ok(Arc::new(Site { harness: Harness::new(store, Archive::new(&args.runs), folder), names, pages }))
}

/// The name of the user who starts it.
fn person_here() -> String {
    let name = std::env::var("USER").or_else(|_| std::env::var("LOGNAME"));
    name.ok()
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| format!("user {}", rustix::process::getuid().as_raw()))
}

/// Only digests are kept. Those of an earlier start are not valid any more; sessions of browsers stay.
async fn keep_secrets(site: &Shared, person: &str, controller: &str) -> Result<(), ServiceError> {
    let (of_person, of_controller) = (digest(person), digest(controller));
    let name = site.names.person.clone();
    site.harness
        .store()
        .transact(move |rows| {
            rows.remove_secrets(SecretKind::Person)?;
            rows.remove_secrets(SecretKind::Controller)?;
            // A number of the database has a sign.
            let forever = i64::MAX as u64;
            rows.put_secret(&of_person, SecretKind::Person, &name, forever)?;
            Ok(rows.put_secret(&of_controller, SecretKind::Controller, "controller", forever)?)
        })
        .await
}

/// Ends leases of controllers that are silent, and empties the trash.
async fn look_after(site: Shared) {
    let mut watch = LeaseWatch::default();
    let mut until_trash = Duration::ZERO;
    loop {
        if let Err(error) = site.harness.end_leases(&mut watch).await {
            say(&format!("showdown: leases cannot be looked at: {error}"));
        }
        if until_trash.is_zero() {
            until_trash = TRASH_LOOK;
            if let Err(error) = site.harness.empty_trash().await {
                say(&format!("showdown: the trash cannot be emptied: {error}"));
            }
        }
        until_trash = until_trash.saturating_sub(LEASE_LOOK);
        sleep(LEASE_LOOK).await;
    }
}

/// The controller that this server has started.
struct ControllerProcess {
    runs: PathBuf,
    folder: HarnessFolder,
    site: Shared,
    child: Option<Child>,
}

impl ControllerProcess {
    /// Starts it if it does not run, and tells the queue when it has ended.
    async fn step(&mut self) {
        if let Some(child) = &mut self.child {
            if let Ok(None) = child.try_wait() {
                return sleep(Duration::from_millis(200)).await;
            }
            self.child = None;
            if let Ok(id) = std::fs::read_to_string(self.folder.controller_id()) {
                // Its leases end by themselves later, if they cannot now.
                let _ = self.site.harness.controller_ended(id.trim().to_owned()).await;
            }
            return sleep(BEFORE_RESTART).await;
        }
        // One that an earlier server has started goes on, perhaps with a run.
        if matches!(self.folder.lock("controller.lock"), Ok(None)) {
            return sleep(BEFORE_RESTART).await;
        }
        match self.start() {
            Ok(child) => self.child = Some(child),
            Err(error) => {
                say(&format!("showdown: cannot start the controller: {error:#}"));
                sleep(BEFORE_RESTART).await;
            }
        }
    }

    fn start(&self) -> anyhow::Result<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("controller").arg("--runs").arg(&self.runs).stdin(Stdio::null());
        // Ctrl-C reaches this process, which lets the controller end its run first.
        Ok(command.process_group(0).spawn()?)
    }

    /// Ends it: its run is interrupted, and tells how it ended.
    async fn end(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let _ = kill_process(Pid::from_child(&child), Signal::TERM);
        let mut left = MOST_ENDING;
        while matches!(child.try_wait(), Ok(None)) && !left.is_zero() {
            let pause = Duration::from_millis(50);
            sleep(pause).await;
            left = left.saturating_sub(pause);
        }
    }
}
