//! hosts.toml: the machines that a user has, and how each is reached. What an entry may have is left to
//! [`host_entry`](crate::hosts::host_entry).

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use archive::model::PlannedHost;
use host::ownership::OwnershipError;
use serde::Deserialize;
use toml::Spanned;
use workload::definition::{FileError, SourceText};

use crate::hosts::host_entry::{HostEntry, Key, WrongEntry, check, is_host_name, not_a_name};

/// The file that is used where no other is named.
pub const HOSTS_FILE: &str = "hosts.toml";

/// Why there are no hosts.
#[derive(Debug, thiserror::Error)]
pub enum HostsFileError {
    /// None is named, and none is in the working directory.
    #[error(
        "there is no {HOSTS_FILE} here: write one, see `showdown hosts --help`, or name another file with --hosts FILE"
    )]
    None,
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// The file of the working directory may be somebody else's: it says where programs run.
    #[error("{0}; or name it with --hosts, if you trust it")]
    Ownership(#[from] OwnershipError),
    /// The file is wrong.
    #[error(transparent)]
    Definition(#[from] FileError),
}

/// The machines of a user, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts(pub Vec<HostEntry>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    #[serde(default)]
    host: BTreeMap<String, Spanned<RawHost>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHost {
    ssh: Option<Spanned<String>>,
    address: Spanned<String>,
    kind: Option<Spanned<String>>,
    cpus: Option<Spanned<String>>,
    #[serde(rename = "become")]
    become_root: Option<Spanned<String>>,
}

impl Hosts {
    /// Reads the named file, or the one of the working directory. The latter must be under the control of the user alone.
    pub fn read(named: Option<&Path>) -> Result<Self, HostsFileError> {
        let path = named.unwrap_or(Path::new(HOSTS_FILE));
        if named.is_none() {
            if !path.exists() {
                return Err(HostsFileError::None);
            }
            host::ownership::check(path)?;
        }
        let label = path.display().to_string();
        let text = fs::read_to_string(path)
            .map_err(|source| HostsFileError::Read { path: label.clone(), source })?;
        Ok(Self::parse(&label, &text)?)
    }

    /// Parses a file's text; errors begin with its name and a line.
    pub fn parse(file: &str, text: &str) -> Result<Self, FileError> {
        let source = SourceText { file, text };
        let raw: RawFile = toml::from_str(text).map_err(|error| source.toml_error(&error))?;
        let mut entries: Vec<(usize, usize, HostEntry)> = Vec::new();
        for (name, spanned) in raw.host {
            let (table, host) = (spanned.span(), spanned.into_inner());
            if !is_host_name(&name) {
                // The name has no place of its own: its table is shown.
                return Err(source.error(&table, not_a_name(&name)));
            }
            let line_of_address = host.address.span().start;
            entries.push((table.start, line_of_address, host.check(name, &source)?));
        }
        entries.sort_by_key(|(place, ..)| *place);
        for (number, (_, place, entry)) in entries.iter().enumerate() {
            if let Some((_, _, other)) = entries[..number].iter().find(|(.., o)| o.address == entry.address) {
                let message = format!(
                    "host.{} and host.{} have the same address {}: give each its own",
                    other.name, entry.name, entry.address
                );
                return Err(source.error(&(*place..*place), message));
            }
        }
        if entries.is_empty() {
            return Err(source.error_at_line(1, "there is no host in it: write [host.NAME] with an address"));
        }
        Ok(Self(entries.into_iter().map(|(.., entry)| entry).collect()))
    }
}

impl RawHost {
    fn check(self, name: String, source: &SourceText<'_>) -> Result<HostEntry, FileError> {
        let text = |value: &Option<Spanned<String>>| value.as_ref().map(|value| value.get_ref().clone());
        let written = PlannedHost {
            name,
            ssh: text(&self.ssh),
            address: self.address.get_ref().clone(),
            kind: text(&self.kind),
            cpus: text(&self.cpus),
            become_root: text(&self.become_root),
        };
        check(&written).map_err(|WrongEntry { key, why }| {
            let value = match key {
                Key::Name | Key::Address => None,
                Key::Ssh => self.ssh.as_ref(),
                Key::Kind => self.kind.as_ref(),
                Key::Cpus => self.cpus.as_ref(),
                Key::Become => self.become_root.as_ref(),
            };
            source.error(&value.unwrap_or(&self.address).span(), why)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
[host.old]
ssh     = "ops@old.example"
address = "10.1.0.5"
kind    = "T2000"
cpus    = "2-31"
become  = "sudo -n"

[host.here]
address = "10.1.0.1"
"#;

    #[test]
    fn every_key_is_read_in_the_order_of_the_file() {
        let Hosts(hosts) = Hosts::parse("hosts.toml", FILE).expect("a good file");
        let [old, here] = &hosts[..] else { panic!("{hosts:?}") };
        assert_eq!((old.name.as_str(), old.ssh.as_deref()), ("old", Some("ops@old.example")));
        assert_eq!((old.kind.as_deref(), old.address), (Some("T2000"), [10, 1, 0, 5].into()));
        assert_eq!(old.cpus.as_ref().map(ToString::to_string).as_deref(), Some("2-31"));
        assert_eq!(old.become_root, ["sudo", "-n"]);
        assert_eq!((here.name.as_str(), &here.ssh, here.become_root.len()), ("here", &None, 0));
    }

    #[test]
    fn a_mistake_is_reported_with_its_line() {
        for (good, wrong, message) in [
            (
                "kind ",
                "kimd ",
                ":5: unknown key \"kimd\" (did you mean \"kind\"? available: ssh, address, kind, cpus, become)",
            ),
            (
                "[host.old]",
                "[hosts.old]",
                ":2: unknown key \"hosts\" (did you mean \"host\"? available: host)",
            ),
            (
                "ops@old",
                "-oProxyCommand=x",
                ":3: ssh = \"-oProxyCommand=x.example\": ssh would take it for an option",
            ),
            ("ops@old", "-v ops@old", ":3: "),
            ("ops@old", "ops@old -v", ":3: ssh = \"ops@old -v.example\": write user@host, such as"),
            ("10.1.0.5", "old", ":4: address = \"old\" is not an IP address"),
            ("10.1.0.5", "0.0.0.0", ":4: 0.0.0.0 is not the address of one host"),
            ("10.1.0.5", "10.1.0.1", ":10: host.old and host.here have the same address 10.1.0.1"),
            ("10.1.0.5", "::ffff:10.1.0.1", ":10: host.old and host.here have the same address"),
            ("T2000", "", ":5: kind is a text"),
            ("2-31", "31-2", ":6: cpus: \"31-2\" is not a list of CPUs"),
            ("2-31", "", ":6: cpus is empty"),
            ("sudo -n", "sudo '", ":7: become = \"sudo '\" is not a command"),
            ("sudo -n", "sudo; id", ":7: become = \"sudo; id\" is not a command"),
            ("host.here", "host.\"a,b\"", ":9: \"a,b\" cannot be the name of a host"),
            ("address = \"10.1.0.1\"", "", ":9: missing field `address`"),
        ] {
            let text = FILE.replacen(good, wrong, 1);
            let error = Hosts::parse("hosts.toml", &text).expect_err(wrong).to_string();
            assert!(error.starts_with(&format!("hosts.toml{message}")), "{wrong}: {error}");
        }
        let empty = Hosts::parse("hosts.toml", "").expect_err("no host").to_string();
        assert!(empty.starts_with("hosts.toml:1: there is no host in it"), "{empty}");
    }
}
