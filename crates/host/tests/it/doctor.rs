//! The doctor on this machine.

use std::time::Duration;

use host::doctor::{Level, examine};

use crate::common::local;

#[test]
fn this_machine_is_examined_with_what_it_does_now() -> std::io::Result<()> {
    let evidence = local().evidence(Duration::from_millis(200))?;
    assert!(!evidence.idle.samples.is_empty());
    let findings = examine(&evidence);
    for id in ["cpus", "load", "steal", "memory", "descriptors", "ports", "accept queue", "virtual machine"] {
        assert!(findings.iter().any(|finding| finding.id == id), "{id} is missing in {findings:#?}");
    }
    assert!(findings.iter().all(|finding| finding.level == Level::Ok || !finding.found.is_empty()));
    Ok(())
}
