//! Ctrl-C and SIGTERM: the first signal asks the command to stop and keep what it has, the second ends it at once.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use load::engine::RunContext;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// A flag that the first signal sets.
pub fn flag() -> anyhow::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The order matters: a second signal finds the flag set and ends the process.
        flag::register_conditional_shutdown(signal, 130, interrupted.clone())?;
        flag::register(signal, interrupted.clone())?;
    }
    Ok(interrupted)
}

/// The context of every run of the engine: the flag, and the command that starts further load processes.
pub fn context() -> anyhow::Result<RunContext> {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    Ok(RunContext {
        interrupted: flag()?,
        load_process: Some(Arc::new(move || {
            let mut command = Command::new(&program);
            command.arg("__load-process");
            command
        })),
    })
}
