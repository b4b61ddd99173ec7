//! `showdown runner`: a program that generates its own load, until standard input ends.

use std::path::{Path, PathBuf};
use std::process::exit;
use std::{fs, thread};

use anyhow::Context;
use runners::Runner;
use signal_hook::consts::SIGTERM;
use signal_hook::iterator::Signals;

use crate::exit::CommandStatus;

/// The exit code of a program that SIGTERM has ended, as shells have it.
const TERMINATED: i32 = 128 + SIGTERM;

/// How often the removal of a directory is tried into which a thread may still write.
const TRIES: usize = 10;

/// Runs it.
pub fn run(runner: &Runner) -> anyhow::Result<CommandStatus> {
    if let Some(data) = runner.data() {
        remove_at_sigterm(data)?;
    }
    runners::run(runner)?;
    Ok(CommandStatus::Success)
}

/// Removes the data at SIGTERM, and ends: while a runner fills its file, which may take minutes, it reads no command.
fn remove_at_sigterm(data: PathBuf) -> anyhow::Result<()> {
    let mut signals = Signals::new([SIGTERM])?;
    let wait = move || {
        if signals.forever().next().is_some() {
            for _ in (0..TRIES).take_while(|_| data.exists()) {
                remove(&data);
            }
            exit(TERMINATED);
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(wait).context("cannot wait for signals")?;
    Ok(())
}

fn remove(data: &Path) {
    // What cannot be removed is overwritten by the next runner.
    let _ = if data.is_dir() { fs::remove_dir_all(data) } else { fs::remove_file(data) };
}
