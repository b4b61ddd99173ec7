//! Test servers: perl scripts with the bad behaviour that servers can have.

use std::path::Path;
use std::time::{Duration, Instant};

use host::{Host, ServerCommand};

/// Says that this machine cannot run a test, as `scripts/checks` expects it.
#[expect(clippy::print_stderr, reason = "a test that did not run must say so")]
pub fn skip(why: &str) {
    eprintln!("SKIPPED: {why}");
}

/// Daemonises: fork, setsid, fork; the first process exits with status 0.
pub const DAEMON: &str = r#"
    use POSIX "setsid";
    exit 0 if fork; setsid; exit 0 if fork;
    print "daemon $$ up\n"; sleep 1 while 1;
"#;

/// A master with two workers in their own sessions. All ignore SIGTERM.
pub const STUBBORN: &str = r#"
    use POSIX "setsid";
    $SIG{TERM} = "IGNORE"; $| = 1;
    for (1, 2) { next if fork; setsid; sleep 1 while 1; }
    print "up\n"; sleep 1 while 1;
"#;

/// Changes its process all the time: each process forks the next one and exits.
pub const FORKER: &str = r"
    exit 0 if fork;
    while (1) { exit 0 if fork; select undef, undef, undef, 0.0005; }
";

/// Its children use 0.3 s of CPU time each and end: one that it waits for, and one that is an orphan by then.
pub const SPENDTHRIFT: &str = r#"
    $| = 1;
    sub spend { 1 until (times)[0] + (times)[1] > 0.3 }
    if (!fork) { spend; exit }
    if (!fork) { if (!fork) { spend; print "orphan
" } exit }
    wait; wait; print "waited
"; sleep 1 while 1;
"#;

/// The supervisor and restorer program of these tests.
pub const SUPERVISOR: &str = env!("CARGO_BIN_EXE_host-supervisor");

pub fn local() -> Host {
    Host::local_with_supervisor(SUPERVISOR)
}

/// A perl script as a server. The directory is also an argument, by which tests find its processes.
pub fn perl(script: &str, dir: &Path) -> ServerCommand {
    let here = dir.to_str().expect("a UTF-8 path");
    ServerCommand {
        grace: Duration::from_millis(500),
        ..ServerCommand::new("perl", ["perl", "-e", script, here], dir, dir.join("log"))
    }
}

/// The processes that have this directory among their arguments.
pub fn processes_of(dir: &Path) -> Vec<String> {
    let needle = dir.to_str().expect("a UTF-8 path");
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("Linux").flatten() {
        let cmdline = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if cmdline.split(|&b| b == 0).any(|argument| argument == needle.as_bytes()) {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

/// Waits until the condition is true. The time limit is much longer than needed, so that a slow machine passes.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(30), "timeout: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn eventually_gone(dir: &Path) {
    eventually("all processes of the server are gone", || processes_of(dir).is_empty());
}
