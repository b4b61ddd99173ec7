//! Servers to play with: perl scripts that behave as badly as servers may.

use std::path::Path;
use std::time::{Duration, Instant};

use host::{Host, ServerCommand};

/// Goes into the background as daemons do: fork, setsid, fork; the first process exits with 0.
pub const DAEMON: &str = r#"
    use POSIX "setsid";
    exit 0 if fork; setsid; exit 0 if fork;
    print "daemon $$ up\n"; sleep 1 while 1;
"#;

/// A master with two workers in sessions of their own, all deaf to SIGTERM.
pub const STUBBORN: &str = r#"
    use POSIX "setsid";
    $SIG{TERM} = "IGNORE"; $| = 1;
    for (1, 2) { next if fork; setsid; sleep 1 while 1; }
    print "up\n"; sleep 1 while 1;
"#;

/// Never the same process for long: each forks the next and exits, in the background.
pub const RUNNER: &str = r"
    exit 0 if fork;
    while (1) { exit 0 if fork; select undef, undef, undef, 0.0005; }
";

/// The program that keeps servers and settings for these tests.
pub const KEEPER: &str = env!("CARGO_BIN_EXE_host-keeper");

pub fn local() -> Host {
    Host::local_with_keeper(KEEPER)
}

/// A perl script as a server. The directory is an argument too, so that its processes can be found again.
pub fn perl(script: &str, dir: &Path) -> ServerCommand {
    let here = dir.to_str().expect("temporary directories have plain names");
    ServerCommand {
        grace: Duration::from_millis(500),
        ..ServerCommand::new("perl", ["perl", "-e", script, here], dir, dir.join("log"))
    }
}

/// The processes that have this directory among their arguments.
pub fn processes_of(dir: &Path) -> Vec<String> {
    let needle = dir.to_str().expect("temporary directories have plain names");
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("Linux").flatten() {
        let cmdline = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if cmdline.split(|&b| b == 0).any(|argument| argument == needle.as_bytes()) {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

/// Waits for what must come; far longer than it ever takes, so that it is not the time that is tested.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(30), "it never came that {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn eventually_gone(dir: &Path) {
    eventually("all processes of the server are gone", || processes_of(dir).is_empty());
}
