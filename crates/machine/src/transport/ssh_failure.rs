//! What the last words of an ssh(1) that failed mean, and what a user can do.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// A reason and its remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshFailure {
    /// What ssh said.
    pub reason: String,
    /// What to do.
    pub remedy: String,
}

/// Texts of OpenSSH, or of the system below it, and their remedies. `{}` is the destination.
const REMEDIES: &[(&str, &str)] = &[
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "if the host was reinstalled, remove its old key with `ssh-keygen -R HOST`, run `ssh {}` once and check the new one; \
         else somebody may stand between",
    ),
    ("host key is known", "run `ssh {}` once, and check the key that it shows"),
    ("Host key verification failed", "run `ssh {}` once, and check the key that it shows"),
    (
        "Permission denied",
        "check user and key: `ssh {} true` must work without a password (ssh-copy-id, ssh-agent)",
    ),
    (
        "Too many authentication failures",
        "name the key in ~/.ssh/config: IdentityFile, with IdentitiesOnly yes",
    ),
    ("Could not resolve hostname", "correct `ssh` in the hosts file, or add the host to ~/.ssh/config"),
    ("Connection refused", "start sshd on the host, or correct its port in ~/.ssh/config"),
    ("timed out", "check that the host is up, and that no firewall is in the way: `ssh {} true`"),
    ("No route to host", "check that the host is up, and the network to it: `ssh {} true`"),
    ("Network is unreachable", "check the network to the host: `ssh {} true`"),
    ("not responding", "check the network to the host, and start again"),
    ("Bad owner or permissions", "correct the permissions of that file"),
    ("Bad configuration option", "correct that line of your ssh configuration, or use a newer OpenSSH"),
];

/// What stderr's last line says, where something says anything.
pub fn explain(stderr: &str, destination: &str) -> SshFailure {
    let last = stderr.lines().map(str::trim).rfind(|line| !line.is_empty());
    let last = last.unwrap_or("ssh ended without a word");
    let last = last.trim_end_matches('.');
    let known = REMEDIES.iter().find(|(text, _)| stderr.contains(text));
    let changed = known.is_some_and(|(text, _)| text.starts_with("REMOTE HOST"));
    let reason = if changed { "its host key has changed".to_owned() } else { last.to_owned() };
    let remedy = known.map_or("find out with `ssh {} true`", |(_, remedy)| *remedy);
    SshFailure { reason, remedy: remedy.replace("{}", destination) }
}

/// An ssh that a signal has ended.
pub fn killed(status: ExitStatus) -> SshFailure {
    let signal = status.signal().unwrap_or_default();
    SshFailure { reason: format!("ssh was killed by signal {signal}"), remedy: "start again".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_reason_and_has_a_remedy() {
        for (stderr, reason, remedy) in [
            (
                "ssh: connect to host 10.1.0.9 port 22: No route to host\r\n",
                "ssh: connect to host 10.1.0.9 port 22: No route to host",
                "check that the host is up, and the network to it: `ssh h true`",
            ),
            (
                "Authorized use only!\nops@10.1.0.5: Permission denied (publickey).\r\n",
                "ops@10.1.0.5: Permission denied (publickey)",
                "check user and key: `ssh h true` must work",
            ),
            (
                "@@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.\n",
                "its host key has changed",
                "if the host was reinstalled",
            ),
            (
                "No ED25519 host key is known for 10.1.0.5 and you have requested strict checking.\nHost key verification failed.\n",
                "Host key verification failed",
                "run `ssh h` once",
            ),
            ("", "ssh ended without a word", "find out with `ssh h true`"),
            ("strange\n", "strange", "find out with `ssh h true`"),
        ] {
            let found = explain(stderr, "h");
            assert_eq!(found.reason, reason);
            assert!(found.remedy.starts_with(remedy), "{found:?}");
        }
    }
}
