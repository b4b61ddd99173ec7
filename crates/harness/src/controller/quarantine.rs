//! Proves that this machine is clean after a run on it was lost: no showdown measures, no supervisor of servers is left, and kernel
//! settings are back.

use std::process::{Command, Stdio};

use queue::api::Reason;

use super::workplace::Workplace;

/// Frees this machine from quarantine, if it is clean. Otherwise it is tried again, or a person says why it is.
pub fn prove_clean(place: &Workplace) {
    if host::lock::measuring_now(None).is_some() || has_processes(place) {
        return;
    }
    let undo = Command::new(&place.showdown)
        .arg("undo")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !undo.is_ok_and(|status| status.success()) {
        return;
    }
    let reason =
        "no showdown measures, no supervisor of servers is left, and kernel settings have their own values";
    let path = format!("hosts/{}/clean", place.host);
    // The next look tells whether it was freed.
    let _ = place.client.post::<_, serde_json::Value>(&path, &Reason { reason: reason.to_owned() });
}

/// Whether a process of an earlier run of this directory is left: its supervisors stop its servers, and end.
fn has_processes(place: &Workplace) -> bool {
    let mark = format!("{RUN_MARK}={}", place.runs.display());
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    for process in processes.flatten() {
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes()) {
            return true;
        }
    }
    false
}

/// The environment variable by which the processes of a run are found: they inherit it.
pub const RUN_MARK: &str = "SHOWDOWN_HARNESS_RUNS";
