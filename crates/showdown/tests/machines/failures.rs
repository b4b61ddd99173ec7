//! Hosts that cannot be used: each is one line with its name, the reason and the remedy.

use std::fmt::Write;

use super::lab::Lab;
use super::stderr;

/// Host, its ssh destination, and what its line has after the name.
const FAILURES: &[(&str, &str, &[&str])] = &[
    ("full", "full@c1", &["no room for the program: it has ", " MB are free in its cache: free some space"]),
    (
        "readonly",
        "readonly@c1",
        &["cannot make a directory for the program (", "Read-only file system): make the home"],
    ),
    (
        "noexec",
        "noexec@c1",
        &["the program does not run there (", "Permission denied): its home may be mounted noexec"],
    ),
    (
        "nohome",
        "nohome@c1",
        &["cannot make a directory for the program (", "Permission denied): make the home"],
    ),
    (
        "user",
        "nobody-here@c1",
        &[
            "nobody-here@10.77.0.1: Permission denied (publickey): check user and key: `ssh nobody-here@c1 true`",
        ],
    ),
    (
        "changed",
        "changed",
        &["its host key has changed: if the host was reinstalled, remove its old key with `ssh-keygen -R"],
    ),
    ("unknown", "unknown", &["Host key verification failed: run `ssh unknown` once, and check the key"]),
    ("refused", "refused", &["Connection refused: start sshd on the host"]),
    ("away", "10.77.0.99", &["No route to host: check that the host is up"]),
    (
        "name",
        "nowhere.invalid",
        &["Could not resolve hostname nowhere.invalid", "correct `ssh` in the hosts file"],
    ),
    (
        "shell",
        "shell",
        &["the login works, and its shell does not run the agent (", "check with `ssh shell uname`"],
    ),
];

#[test]
fn each_failure_is_one_line_and_the_others_are_shown() {
    let Some(lab) = Lab::up(1) else { return };
    // Another host's key under the name of this one.
    let key = lab.read("key.pub");
    let changed = lab.write("known_changed", &format!("10.77.0.1 {key}"));
    lab.configure_ssh(&format!(
        "Host changed\n HostName 10.77.0.1\n UserKnownHostsFile {}\n\
         Host unknown\n HostName 10.77.0.1\n UserKnownHostsFile /dev/null\n\
         Host refused\n HostName 10.77.0.1\n Port 23\n\
         Host shell\n HostName 10.77.0.1\n User nologin\n",
        changed.display()
    ));
    // A login that runs nothing.
    let passwd = lab.read("c1/passwd") + "nologin:x:2999:2999::/home/ops:/usr/sbin/nologin\n";
    lab.write("c1/passwd", &passwd);
    let mut file = "[host.good]\nssh = \"ops@c1\"\naddress = \"10.77.0.1\"\n".to_owned();
    for (number, (name, ssh, _)) in FAILURES.iter().enumerate() {
        let _ = writeln!(file, "[host.{name}]\nssh = \"{ssh}\"\naddress = \"10.77.0.{}\"", 100 + number);
    }
    let output = lab.hosts(&file, &[]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.starts_with(&format!("1 of {} hosts can be used.", FAILURES.len() + 1)), "{text}");
    assert!(text.contains("good  10.77.0.1, ssh ops@c1\n  ") && text.contains("not reachable"), "{text}");
    let errors = stderr(&output);
    let lines: Vec<&str> = errors.lines().collect();
    assert_eq!(lines.len(), FAILURES.len(), "{errors}");
    for (line, (name, _, parts)) in lines.iter().zip(FAILURES) {
        let mut rest = line
            .strip_prefix(&format!("showdown: host {name}: "))
            .unwrap_or_else(|| panic!("{name}: {line}"));
        for part in *parts {
            rest = rest
                .find(part)
                .map_or_else(|| panic!("{name}: no {part:?} in {line}"), |at| &rest[at + part.len()..]);
        }
    }
}

#[test]
fn another_architecture_needs_another_program() {
    let Some(lab) = Lab::up(1) else { return };
    let file = "[host.arm]\nssh = \"arm@c1\"\naddress = \"10.77.0.1\"\n";
    let output = lab.hosts(file, &[]);
    let this = std::env::consts::ARCH;
    let line = format!(
        "showdown: host arm: it is aarch64, and the program here is for {this}: \
         pass --program aarch64=PATH with a build of showdown for aarch64\n"
    );
    assert_eq!((output.status.code(), stderr(&output)), (Some(1), line));
    let wrong = lab.hosts(file, &["--program", &format!("aarch64={}", super::SHOWDOWN)]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains(&format!("is a program for {this}, not for aarch64")), "{wrong:?}");
}
