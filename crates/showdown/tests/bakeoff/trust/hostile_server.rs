//! A server that replaces its files by links to a file of root: nothing of that file gets into the run, and nothing is
//! written to it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::home::{TestHome, json, only_run, skip, text, trials};

/// What only root may read.
const SECRET: &str = "root's own secret";

/// Runs in the example's server when it has been started: everything in its directory becomes a link or a pipe.
const TRAPS: &str = r#"
import os, sys
from os import path, mkfifo, symlink, unlink
for name in {*os.listdir(os.environ["OWN"]), "server.log", "tool.log", "password"}:
    trap = path.join(os.environ["OWN"], name)
    if path.lexists(trap):
        unlink(trap)
    if options.cache == "on":
        mkfifo(trap)
    else:
        symlink(os.environ["SECRET"], trap)
print("all traps are set by", os.getuid(), file=sys.stderr, flush=True)

"#;

/// A home whose example runs as an unprivileged user and sets its traps.
fn home() -> TestHome {
    let home = TestHome::new();
    assert!(home.run(&["workloads", "new", "my-api"]).status.success());
    let change = |file: &str, from: &str, to: &str| {
        let path = home.path(&format!("workloads/my-api/{file}"));
        let text = fs::read_to_string(&path).expect("a file of the example");
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replacen(from, to, 1)).expect("the file is written");
    };
    change("server.py", "Server((", &format!("{TRAPS}Server(("));
    let secret = home.path("secret");
    fs::write(&secret, SECRET).expect("the file is written");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).expect("permissions");
    fs::write(home.path("workloads/my-api/own.conf"), "password = {{ password }}\n").expect("a template");
    let keys = format!(
        "unprivileged = true\npassword = true\nconfig = [\"own.conf\"]\n\
         environment = {{ OWN = \"{{{{ dir }}}}\", SECRET = \"{}\" }}\nversion = [\"id\", \"-u\"]",
        secret.display()
    );
    change("workload.toml", "version = [\"python3\", \"--version\"]", &keys);
    home
}

fn assert_no_secret(directory: &Path) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        if entry.file_type().expect("a type").is_dir() {
            assert_no_secret(&entry.path());
        } else {
            let text = text(&fs::read(entry.path()).expect("a file"));
            assert!(!text.contains(SECRET), "{} contains the secret", entry.path().display());
        }
    }
}

#[test]
fn a_file_of_root_is_neither_read_nor_written_for_a_server() {
    if !rustix::process::geteuid().is_root() {
        return skip("all servers of an ordinary user run as that user");
    }
    let home = home();
    let plan = home.small_plan(&["my-api:cache=off", "my-api:cache=on"]);
    let output = home.run(&["run", &plan]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();

    assert_eq!(fs::read_to_string(home.path("secret")).expect("it is there"), SECRET);
    let run = only_run(&home);
    assert_no_secret(&run);
    for variant in json(&run.join("facts.json"))["variants"].as_array().expect("variants") {
        let user = variant["version"].as_str().and_then(|text| text.parse::<u32>().ok());
        assert!(user.is_some_and(|user| user != 0), "tools run as the server's user: {variant}");
    }
    for trial in trials(&run) {
        let record = json(&trial.join("trial.json"));
        assert!(record["status"] != "failed", "{record}");
        let log = fs::read_to_string(trial.join("server.log")).expect("the log");
        assert!(log.contains("all traps are set"), "{log}");
        let config = fs::read_to_string(trial.join("config/own.conf")).expect("the configuration");
        assert_eq!(config, "password = ***\n");
    }
}
