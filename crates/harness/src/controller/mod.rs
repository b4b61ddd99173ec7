//! The controller: it takes runs from a server, and starts `showdown` for each. It is a program of its own, so that a server that dies
//! costs no measurement. It calls the server, never the other way round.

mod attempt;
mod child;
mod client;
mod progress;
mod quarantine;
pub mod rules;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use queue::api::{ClaimAnswer, ClaimCall};
use queue::{ControllerCall, NewController};

use self::client::{CallError, Client};
use self::rules::Rules;
use crate::folder::HarnessFolder;
use crate::secrets::new_secret;

/// How long a call waits for work, seconds.
const WAIT_S: u32 = 20;

/// The pause after a call that failed, and between two looks at what else measures here.
const PAUSE: Duration = Duration::from_millis(500);

/// A controller of this machine's server ends when there is none for so long: `showdown serve` starts another one.
const WITHOUT_SERVER: Duration = Duration::from_mins(2);

/// Where a controller works.
#[derive(Debug)]
pub struct Controller {
    client: Client,
    call: ControllerCall,
    rules: Rules,
    /// The program that runs plans.
    showdown: PathBuf,
    runs: PathBuf,
    folder: HarnessFolder,
    host: String,
    serves_own_server: bool,
    stopped: Arc<AtomicBool>,
}

impl Controller {
    /// The controller of a directory of runs. `server` is that of this machine where it is none.
    pub fn new(runs: &Path, server: Option<(String, String)>, rules: Rules) -> anyhow::Result<Self> {
        let folder = HarnessFolder::create(runs).with_context(|| format!("cannot use {}", runs.display()))?;
        let id = id_of(&folder.controller_id())?;
        let stopped = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&stopped))?;
        }
        Ok(Self {
            serves_own_server: server.is_none(),
            client: Client::new(server, folder.clone()),
            call: ControllerCall { id, boot: new_secret() },
            rules,
            showdown: beside_this_program("showdown")?,
            runs: runs.canonicalize()?,
            host: host_name(),
            folder,
            stopped,
        })
    }

    /// Takes runs until a signal stops it. The run that goes on then is interrupted, and keeps what it has measured.
    pub fn run(&self) -> anyhow::Result<()> {
        let Some(_lock) = self.folder.lock("controller.lock")? else {
            anyhow::bail!("another controller works for {}: it takes the runs", self.runs.display());
        };
        let mut is_registered = false;
        let mut answered = Instant::now();
        while !self.is_stopped() {
            if !is_registered {
                is_registered = self.register()?;
                if !is_registered {
                    if self.serves_own_server && answered.elapsed() > WITHOUT_SERVER {
                        return Ok(());
                    }
                    thread::sleep(PAUSE);
                    continue;
                }
                answered = Instant::now();
            }
            match self.claim() {
                Ok(answer) => self.take(answer),
                // The server has another database, or another start of this controller has called.
                Err(CallError::Refused { .. }) => is_registered = false,
                Err(CallError::Unreachable(_)) => {
                    is_registered = false;
                    thread::sleep(PAUSE);
                }
            }
        }
        Ok(())
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Says that it is there; false where the server does not answer.
    fn register(&self) -> anyhow::Result<bool> {
        let new = NewController {
            id: self.call.id.clone(),
            boot: self.call.boot.clone(),
            name: format!("controller on {}", self.host),
            host: self.host.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            rules: self.rules.in_a_line(),
        };
        match self.client.post::<_, ()>("controllers", &new) {
            Ok(_) => Ok(true),
            Err(CallError::Unreachable(_)) => Ok(false),
            Err(CallError::Refused { error, .. }) => anyhow::bail!("the server refuses this controller: {error}"),
        }
    }

    fn claim(&self) -> Result<ClaimAnswer, CallError> {
        let busy = host::lock::measuring_now(None);
        let is_busy = busy.is_some();
        let call = ClaimCall { controller: self.call.clone(), busy, wait_s: WAIT_S };
        let answer = self.client.post("claims", &call)?.unwrap_or(ClaimAnswer { work: None, quarantined: Vec::new() });
        if is_busy {
            thread::sleep(PAUSE);
        }
        Ok(answer)
    }

    fn take(&self, answer: ClaimAnswer) {
        if let Some(work) = answer.work {
            attempt::execute(self, work);
        } else if answer.quarantined.contains(&self.host) {
            quarantine::prove_clean(self);
            thread::sleep(PAUSE);
        }
    }
}

/// The id of an installation: made once.
fn id_of(path: &Path) -> anyhow::Result<String> {
    match fs::read_to_string(path) {
        Ok(id) => return Ok(id.trim().to_owned()),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot read {}", path.display()));
        }
        Err(_) => {}
    }
    let id = new_secret()[..32].to_owned();
    fs::write(path, &id).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(id)
}

/// A program in the folder of this one.
pub fn beside_this_program(name: &str) -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("cannot find the path of this program")?;
    let path = own.with_file_name(name);
    anyhow::ensure!(
        path.is_file(),
        "{} is missing: install both programs of Showdown into one folder (`make install`)",
        path.display()
    );
    Ok(path)
}

/// The name of this machine.
fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
