//! The doctor's checks of this machine.

use std::time::Duration;

use host::doctor::{Severity, examine};

use crate::common::local;

#[test]
fn the_checks_run_on_this_machine() -> std::io::Result<()> {
    let evidence = local().evidence(Duration::from_millis(200))?;
    assert!(!evidence.idle.samples.is_empty());
    let findings = examine(&evidence);
    for id in ["cpus", "load", "steal", "memory", "descriptors", "ports", "accept queue", "virtual machine"] {
        assert!(findings.iter().any(|finding| finding.id == id), "{id} is missing in {findings:#?}");
    }
    assert!(findings.iter().all(|finding| finding.level == Severity::Ok || !finding.found.is_empty()));
    Ok(())
}
