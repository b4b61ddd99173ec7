//! Ctrl-C and SIGTERM: the first signal asks the command to stop and keep what it has, the second ends it at once.

use std::process::{Command, exit};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::Context;
use load::engine::RunContext;
use load::processes::VERB;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::exit::{INTERRUPTED, print_failure};

/// What the second signal prints: the supervisors of the servers and of the settings are processes of their own.
const AGAIN: &str = "interrupted again: it ends at once. Servers that it started are stopped and kernel settings \
                     are restored without it; files that are left are removed by its next start";

/// A flag that the first signal sets.
pub fn flag() -> anyhow::Result<Arc<AtomicBool>> {
    flag_of(AGAIN)
}

/// The same for a command whose second signal has another consequence, which it prints.
pub fn flag_of(again: &'static str) -> anyhow::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = interrupted.clone();
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let waiting = thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for _signal in signals.forever() {
            if flag.swap(true, Ordering::Relaxed) {
                print_failure(again);
                exit(INTERRUPTED.into())
            }
        }
    });
    waiting.context("cannot wait for signals")?;
    Ok(interrupted)
}

/// Sets the flag at the end of the standard input: for a program that another one has started.
pub fn at_end_of_input(interrupted: &Arc<AtomicBool>) {
    let interrupted = Arc::clone(interrupted);
    thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        interrupted.store(true, Ordering::Relaxed);
    });
}

/// The context of every run of the engine: the flag, and the command that starts further load processes.
pub fn context() -> anyhow::Result<RunContext> {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let load_process = move || {
        let mut command = Command::new(&program);
        command.arg(VERB);
        command
    };
    Ok(RunContext {
        interrupted: flag()?,
        load_process: Some(Arc::new(load_process)),
        ..RunContext::default()
    })
}
