//! Where a controller works: its server, its rules, its directory of runs, and the program that runs plans.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use queue::ControllerCall;

use super::client::Client;
use super::rules::Rules;
use crate::folder::{HarnessFolder, this_host};
use crate::secrets::new_secret;

/// Where a controller works.
#[derive(Debug)]
pub struct Workplace {
    /// Calls the server.
    pub client: Client,
    /// Who calls.
    pub call: ControllerCall,
    /// What is accepted.
    pub rules: Rules,
    /// The program that runs plans.
    pub showdown: PathBuf,
    /// The directory of runs, absolute.
    pub runs: PathBuf,
    /// The folder of the harness there.
    pub folder: HarnessFolder,
    /// The name of this machine.
    pub host: String,
    /// Whether the server is the one of the directory of runs.
    pub is_of_own_server: bool,
    stopped: Arc<AtomicBool>,
}

impl Workplace {
    /// The workplace in a directory of runs. `server` is that of this machine where it is none: its URL, and the secret.
    pub fn new(runs: &Path, server: Option<(String, String)>, rules: Rules) -> anyhow::Result<Self> {
        let folder = HarnessFolder::create(runs).with_context(|| format!("cannot use {}", runs.display()))?;
        let id = id_of(&folder.controller_id())?;
        let stopped = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&stopped))?;
        }
        Ok(Self {
            is_of_own_server: server.is_none(),
            client: Client::new(server, folder.clone()),
            call: ControllerCall { id, boot: new_secret() },
            rules,
            showdown: beside_this_program("showdown")?,
            runs: runs.canonicalize()?,
            host: this_host(),
            folder,
            stopped,
        })
    }

    /// A workplace of a test, with its own program in place of showdown.
    #[cfg(test)]
    pub fn of_test(root: &Path, server: &str, showdown: PathBuf, rules: Rules) -> anyhow::Result<Self> {
        let folder = HarnessFolder::create(root)?;
        let server = Some((server.to_owned(), "secret".to_owned()));
        Ok(Self {
            is_of_own_server: false,
            client: Client::new(server, folder.clone()),
            call: ControllerCall { id: "c".to_owned(), boot: "1".to_owned() },
            rules,
            showdown,
            runs: root.to_owned(),
            host: "m".to_owned(),
            folder,
            stopped: Arc::default(),
        })
    }

    /// Whether a signal has stopped the controller.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
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
fn beside_this_program(name: &str) -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("cannot find the path of this program")?;
    let path = own.with_file_name(name);
    anyhow::ensure!(
        path.is_file(),
        "{} is missing: install both programs of Showdown into one folder (`make install`)",
        path.display()
    );
    Ok(path)
}
