//! Finds what identifies a machine, a user or a directory in a text, and replaces it.
//!
//! | found | replaced by |
//! |---|---|
//! | a name of the host or of a user, as a whole word | `host-1`, `user-1` |
//! | a home directory | `~` |
//! | another known directory, and every other absolute path that is not one of the system | `/path/1` |
//! | an IP address that is not loopback, unspecified or a mask | `ip-1` |
//! | a MAC address, a UUID, a known serial number | `mac-1`, `uuid-1`, `serial-1` |

use super::names::Identity;
use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// Words that do not identify anyone, or that the formats use.
const COMMON_WORDS: &[&str] = &[
    "background",
    "client",
    "closed",
    "compare",
    "config",
    "default",
    "failed",
    "finished",
    "host",
    "invalid",
    "latency",
    "load",
    "local",
    "localdomain",
    "localhost",
    "measure",
    "nobody",
    "none",
    "open",
    "passed",
    "quick",
    "root",
    "server",
    "showdown",
    "steady",
    "sweep",
    "thorough",
    "throughput",
    "trials",
    "valid",
    "www-data",
];

/// Words in the names of a run's files, by which they are read.
const FILE_WORDS: &[&str] = &[
    "command",
    "concurrency",
    "explanation",
    "facts",
    "folded",
    "hlog",
    "json",
    "log",
    "parquet",
    "plan",
    "power",
    "profiles",
    "search",
    "tags",
    "telemetry",
    "toml",
    "trial",
    "tuning",
    "verdict",
    "waits",
];

/// The first parts of the names of kernel settings: `vm.swappiness`.
const SYSCTL_ROOTS: &[&str] =
    &["abi", "crypto", "debug", "dev", "fs", "kernel", "net", "sunrpc", "user", "vm"];

/// Folders that every system has.
const SYSTEM_FOLDERS: &[&str] = &[
    "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "nix", "proc", "run", "sbin", "sys",
    "usr", "var",
];

/// What a text is replaced with. Filled while texts are replaced, so that equal things get equal names.
#[derive(Debug, Clone)]
pub(super) struct Replacements {
    /// Names in lower case, the longest first, with their replacements.
    names: Vec<(String, String)>,
    /// Directories, the longest first, with their replacements.
    directories: Vec<(String, String)>,
    found: BTreeMap<(&'static str, String), String>,
    paths: usize,
}

impl Replacements {
    pub(super) fn new(identity: &Identity, words: &[String]) -> Self {
        let mut names: Vec<(String, String)> = Vec::new();
        for (kind, group) in [
            ("host", &identity.hosts),
            ("user", &identity.users),
            ("path", &identity.paths),
            ("serial", &identity.serials),
        ] {
            let mut number = 0;
            for name in group {
                let name = name.trim().to_lowercase();
                let stays = name.len() < 2
                    || COMMON_WORDS.contains(&name.as_str())
                    || FILE_WORDS.contains(&name.as_str())
                    || words.iter().any(|word| word.eq_ignore_ascii_case(&name));
                if !stays && names.iter().all(|(other, _)| *other != name) {
                    number += 1;
                    names.push((name, format!("{kind}-{number}")));
                }
            }
        }
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        let mut directories: Vec<(String, String)> = Vec::new();
        for (group, is_home) in [(&identity.homes, true), (&identity.directories, false)] {
            for directory in group {
                let directory = directory.trim_end_matches('/');
                let is_known = directories.iter().any(|(other, _)| other == directory);
                if directory.starts_with('/') && !is_known && (is_home || !is_of_system(directory)) {
                    let number = directories.iter().filter(|(_, replacement)| replacement != "~").count() + 1;
                    let replacement = if is_home { "~".to_owned() } else { format!("/path/{number}") };
                    directories.push((directory.to_owned(), replacement));
                }
            }
        }
        let paths = directories.iter().filter(|(_, replacement)| replacement != "~").count();
        directories.sort_by_key(|(directory, _)| std::cmp::Reverse(directory.len()));
        Self { names, directories, found: BTreeMap::new(), paths }
    }

    /// The same, but these names stay.
    pub(super) fn without(&self, kept: &[String]) -> Self {
        let mut fewer = self.clone();
        fewer.names.retain(|(name, _)| !kept.contains(name));
        fewer
    }

    /// The names that a text has in quotes, which may be words of a format.
    pub(super) fn quoted_in(&self, text: &str) -> Vec<String> {
        let text = text.to_lowercase();
        let is_quoted = |name: &&String| text.contains(&format!("\"{name}\""));
        self.names.iter().map(|(name, _)| name).filter(is_quoted).cloned().collect()
    }

    /// The text with everything replaced but the names of hosts, users and paths: what identifies by its form.
    pub(super) fn identifiers(&mut self, text: &str) -> String {
        let names = std::mem::take(&mut self.names);
        self.names = names.iter().filter(|(_, other)| other.starts_with("serial-")).cloned().collect();
        let replaced = self.text(text);
        self.names = names;
        replaced
    }

    /// The text with everything replaced.
    pub(super) fn text(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut before = None;
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let found = self.at(rest, before);
            let length = found.as_ref().map_or(first.len_utf8(), |(length, _)| *length);
            match found {
                Some((_, replacement)) => out.push_str(&replacement),
                None => out.push(first),
            }
            before = rest[..length].chars().next_back();
            rest = &rest[length..];
        }
        out
    }

    /// What the text begins with: its length and its replacement.
    fn at(&mut self, text: &str, before: Option<char>) -> Option<(usize, String)> {
        if text.starts_with('/') {
            return self.path(text, before);
        }
        if before.is_some_and(is_word) {
            return None;
        }
        self.name(text, before).or_else(|| self.identifier(text)).or_else(|| self.address(text, before))
    }

    /// A name at the beginning of a text.
    fn name(&self, text: &str, before: Option<char>) -> Option<(usize, String)> {
        self.names.iter().find_map(|(name, replacement)| {
            let head = text.get(..name.len())?;
            let after = text[name.len()..].chars().next();
            let is_setting =
                SYSCTL_ROOTS.contains(&name.as_str()) && (before == Some('.') || after == Some('.'));
            let is_whole = !after.is_some_and(is_word) && !is_setting;
            (is_whole && head.to_lowercase() == *name).then(|| (name.len(), replacement.clone()))
        })
    }

    /// A path at the beginning of a text.
    fn path(&mut self, text: &str, before: Option<char>) -> Option<(usize, String)> {
        let end = text.find(|c: char| !is_of_path(c)).unwrap_or(text.len());
        let path = text[..end].trim_end_matches(['.', '/']);
        let known = self.directories.iter().find(|(directory, _)| {
            path.strip_prefix(directory.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        if let Some((directory, replacement)) = known {
            return Some((directory.len(), replacement.clone()));
        }
        let continues = before.is_some_and(|c| is_word(c) || ".~/)}]*%-".contains(c));
        if continues || path.starts_with("//") || path.matches('/').count() < 2 {
            return None;
        }
        if path.starts_with("/proc/") || path.starts_with("/sys/") {
            return Some((path.len(), path.to_owned()));
        }
        // A name of a disk has its serial number.
        if is_of_system(path) && !path.starts_with("/dev/disk/by-") {
            return Some((path.len(), self.names_in(path)));
        }
        let path = path.to_owned();
        let length = path.len();
        let replacement = self.found.entry(("path", path)).or_insert_with(|| {
            self.paths += 1;
            format!("/path/{}", self.paths)
        });
        Some((length, replacement.clone()))
    }

    /// A path of the system with the names in it replaced.
    fn names_in(&self, path: &str) -> String {
        let mut out = String::new();
        let (mut rest, mut before) = (path, None);
        while let Some(first) = rest.chars().next() {
            let found = if before.is_some_and(is_word) { None } else { self.name(rest, before) };
            let length = found.as_ref().map_or(first.len_utf8(), |(length, _)| *length);
            out.push_str(found.as_ref().map_or(&rest[..length], |(_, replacement)| replacement));
            before = rest[..length].chars().next_back();
            rest = &rest[length..];
        }
        out
    }

    /// A UUID or a MAC address, also in the name of a network interface.
    fn identifier(&mut self, text: &str) -> Option<(usize, String)> {
        const UUID: &str = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
        for (kind, form) in [
            ("uuid", UUID),
            ("mac", "xx:xx:xx:xx:xx:xx"),
            ("mac", "xx-xx-xx-xx-xx-xx"),
            ("mac", "enxxxxxxxxxxxxx"),
        ] {
            let Some(head) = text.get(..form.len()) else { continue };
            let after = text[form.len()..].chars().next();
            let has_form = head.chars().zip(form.chars()).enumerate().all(|(at, (c, form))| match form {
                'x' if kind != "mac" || !head.starts_with("enx") || at > 2 => c.is_ascii_hexdigit(),
                _ => c == form,
            });
            if has_form && !after.is_some_and(|c| is_word(c) || c == ':') {
                return Some((form.len(), self.numbered(kind, head.to_lowercase())));
            }
        }
        None
    }

    /// An IP address.
    fn address(&mut self, text: &str, before: Option<char>) -> Option<(usize, String)> {
        if before.is_some_and(|c| ".:".contains(c)) {
            return None;
        }
        let end_of = |is_part: &dyn Fn(char) -> bool| text.find(|c: char| !is_part(c)).unwrap_or(text.len());
        let four = text[..end_of(&|c| c.is_ascii_digit() || c == '.')].trim_end_matches('.');
        let six = text[..end_of(&|c| c.is_ascii_hexdigit() || ":.".contains(c))].trim_end_matches('.');
        let address: (&str, IpAddr) = match (four.parse::<Ipv4Addr>(), six.parse::<Ipv6Addr>()) {
            (_, Ok(address)) if six.len() > 3 => (six, address.into()),
            (Ok(address), _) => (four, address.into()),
            _ => return None,
        };
        let (found, address) = address;
        let after = text[found.len()..].chars().next();
        let stays = match address {
            IpAddr::V4(four) => four.octets()[0] == 255,
            IpAddr::V6(_) => false,
        };
        if stays || address.is_loopback() || address.is_unspecified() || after.is_some_and(is_word) {
            return Some((found.len(), found.to_owned()));
        }
        Some((found.len(), self.numbered("ip", address.to_string())))
    }

    /// The replacement of a thing of this kind: the same for the same thing.
    fn numbered(&mut self, kind: &'static str, thing: String) -> String {
        let number = self.found.keys().filter(|(other, _)| *other == kind).count() + 1;
        self.found.entry((kind, thing)).or_insert_with(|| format!("{kind}-{number}")).clone()
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_of_path(c: char) -> bool {
    is_word(c) || "/.-+~@%".contains(c)
}

/// Whether every system has this path, or a directory that showdown made for a trial.
fn is_of_system(path: &str) -> bool {
    let mut parts = path.split('/').skip(1);
    match (parts.next(), parts.next()) {
        (Some("tmp"), second) => second.is_none_or(|second| second.starts_with("showdown-")),
        (Some(first), _) => first.is_empty() || SYSTEM_FOLDERS.contains(&first),
        (None, _) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replacements() -> Replacements {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let identity = Identity {
            hosts: list(&["vm", "Build-7", "localhost"]),
            users: list(&["alice", "root", "nginx"]),
            homes: list(&["/home/alice", "/root"]),
            directories: list(&["/srv/acme/bench", "/usr/bin", "/"]),
            paths: Vec::new(),
            serials: list(&["S4EWNX0R"]),
        };
        Replacements::new(&identity, &["nginx".to_owned()])
    }

    #[test]
    fn what_identifies_is_replaced() {
        for (text, expected) in [
            ("on vm, as alice@build-7.", "on host-1, as user-1@host-2."),
            ("ALICE's alice_x alice2 malice", "user-1's alice_x alice2 malice"),
            ("/home/alice/bench/plan.toml", "~/bench/plan.toml"),
            ("-I/home/alice/include /home/alice2/x", "-I~/include /path/2"),
            ("/root", "~"),
            ("cd /srv/acme/bench/x && run", "cd /path/1/x && run"),
            ("file:///srv/acme/bench/x", "file:///path/1/x"),
            ("--data=/srv/acme/d --log '/srv/acme/l'", "--data=/path/2 --log '/path/3'"),
            ("PATH=/opt/acme/bin:/opt/acme/sbin:/usr/bin", "PATH=/path/2:/path/3:/usr/bin"),
            ("/tmp/alice/x /tmp/showdown-Xy/3/nginx.conf", "/path/2 /tmp/showdown-Xy/3/nginx.conf"),
            ("/var/spool/alice /run/build-7.pid", "/var/spool/user-1 /run/host-2.pid"),
            ("/dev/disk/by-id/nvme-S4EWNX0R /dev/nvme0n1", "/path/2 /dev/nvme0n1"),
            ("disk S4EWNX0R", "disk serial-1"),
            ("10.1.2.3:80 [10.1.2.3] 10.1.2.4", "ip-1:80 [ip-1] ip-2"),
            ("fe80::1:2 2001:db8:0:0:0:0:0:1 2001:db8::1", "ip-1 ip-2 ip-2"),
            ("00:1B:44:11:3a:b7 enx001b44113ab7", "mac-1 mac-2"),
            ("root=UUID=60d9f6bd-6770-4fb4-bbbd-78c70569ba2d", "root=UUID=uuid-1"),
        ] {
            assert_eq!(replacements().text(text), expected, "{text}");
        }
    }

    #[test]
    fn what_does_not_identify_stays() {
        for text in [
            "nginx/1.22.1 root localhost 127.0.0.1:8080 [::1]:80 0.0.0.0 255.255.255.0 ::",
            "/usr/sbin/nginx /etc/nginx/nginx.conf /proc/sys/vm/swappiness /sys/block/vda/queue/scheduler",
            "sysctls.vm.swappiness vm.dirty_ratio=10 nginx:vm.swappiness=1",
            "http://127.0.0.1:8080/1k/2 10/100/1000 ops/s a/b/c text/html */* </Location> /1k",
            "OpenSSL 3.0.15 glibc 2.36-9+deb12u14 1.2.3.4.5 12:34:56 2026-11-22T08:53:08 std::io",
            "trials/003-apache/load.hlog 20261122T085308Z-nginx-apache-69fd",
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        ] {
            assert_eq!(replacements().text(text), text);
        }
    }

    #[test]
    fn equal_things_get_equal_names_in_every_text() {
        let mut replacements = replacements();
        let first = replacements.text("/srv/a/b 10.0.0.1 /srv/a/c");
        assert_eq!(first, "/path/2 ip-1 /path/3");
        assert_eq!(replacements.text("/srv/a/c 10.0.0.2 10.0.0.1"), "/path/3 ip-2 ip-1");
    }
}
