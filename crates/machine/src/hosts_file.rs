//! hosts.toml: the machines that a user has, and how each is reached.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::Path;

use archive::model::PlannedHost;
use host::CpuSet;
use host::ownership::OwnershipError;
use serde::Deserialize;
use toml::Spanned;
use workload::definition::{DefinitionError, SourceText};

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
    Definition(#[from] DefinitionError),
}

/// A machine of the hosts file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostEntry {
    /// Its name in commands and results.
    pub name: String,
    /// Where ssh finds it; none for this machine.
    pub ssh: Option<String>,
    /// Where its servers listen, and its clients send from.
    pub address: IpAddr,
    /// What kind of machine it is, such as an instance type.
    pub kind: Option<String>,
    /// The CPUs to use; all without it.
    pub cpus: Option<CpuSet>,
    /// The command that gives root's rights, such as `sudo -n`; empty where there is none.
    pub become_root: Vec<String>,
}

impl HostEntry {
    /// The entry as a plan records it.
    pub fn planned(&self) -> PlannedHost {
        PlannedHost {
            name: self.name.clone(),
            ssh: self.ssh.clone(),
            address: self.address.to_string(),
            kind: self.kind.clone(),
            cpus: self.cpus.as_ref().map(ToString::to_string),
            become_root: (!self.become_root.is_empty()).then(|| self.become_root.join(" ")),
        }
    }

    /// The entry of a plan, which somebody else may have written: it is checked as the hosts file is.
    pub fn of_plan(planned: &PlannedHost) -> Result<Self, PlannedHostError> {
        check(planned).map_err(|WrongEntry { why, .. }| PlannedHostError { host: planned.name.clone(), why })
    }

    /// Whether a loopback address means another machine there than here.
    pub fn is_elsewhere(&self) -> bool {
        self.ssh.is_some() || !self.address.is_loopback()
    }

    /// Checks that its servers may listen on its address: servers such as memcached have no password, so only a network
    /// that is not public may reach them.
    pub fn check_private(&self) -> Result<(), PlannedHostError> {
        if load::inputs::target::is_private(self.address) {
            return Ok(());
        }
        let why = format!(
            "{} is a public address, where anybody could use its servers: give the address of a private network",
            self.address
        );
        Err(PlannedHostError { host: self.name.clone(), why })
    }
}

/// Checks that an address is the same machine for these clients as here: on another machine, a loopback address is that one.
pub fn check_is_one_machine(address: IpAddr, clients: &[HostEntry]) -> Result<(), OtherLoopback> {
    match clients.iter().find(|client| client.is_elsewhere()) {
        Some(client) if address.is_loopback() => Err(OtherLoopback { address, client: client.name.clone() }),
        _ => Ok(()),
    }
}

/// A loopback address that clients are to load.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{address} is another machine on each client, such as {client}: give the server's address in their network"
)]
pub struct OtherLoopback {
    address: IpAddr,
    client: String,
}

/// Why a plan cannot use a host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("host {host}: {why}")]
pub struct PlannedHostError {
    host: String,
    why: String,
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
    pub fn parse(file: &str, text: &str) -> Result<Self, DefinitionError> {
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
    fn check(self, name: String, source: &SourceText<'_>) -> Result<HostEntry, DefinitionError> {
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

/// A key of an entry.
enum Key {
    Name,
    Ssh,
    Address,
    Kind,
    Cpus,
    Become,
}

/// What is wrong with an entry.
struct WrongEntry {
    key: Key,
    /// The value, why it is wrong, and what to write.
    why: String,
}

/// Checks an entry as it is written, in a hosts file or in a plan.
fn check(written: &PlannedHost) -> Result<HostEntry, WrongEntry> {
    let wrong = |key: Key, why: String| WrongEntry { key, why };
    if !is_host_name(&written.name) {
        return Err(wrong(Key::Name, not_a_name(&written.name)));
    }
    let text = &written.address;
    let no_address =
        || format!("address = {text:?} is not an IP address: write one of the host's, such as \"10.1.0.5\"");
    let address: IpAddr = text.parse().map_err(|_| wrong(Key::Address, no_address()))?;
    if address.is_unspecified() || address.is_multicast() {
        let why =
            format!("{address} is not the address of one host: write one that the other hosts can reach");
        return Err(wrong(Key::Address, why));
    }
    if let Some(ssh) = &written.ssh {
        check_destination(ssh).map_err(|why| wrong(Key::Ssh, format!("ssh = {ssh:?}: {why}")))?;
    }
    if written.kind.as_ref().is_some_and(|kind| !is_label(kind)) {
        let why = "kind is a text of 1 to 100 printable characters, such as an instance type";
        return Err(wrong(Key::Kind, why.to_owned()));
    }
    let cpus = written.cpus.as_ref().map(|cpus| cpus.parse::<CpuSet>()).transpose();
    let cpus = cpus.map_err(|why| wrong(Key::Cpus, format!("cpus: {why}")))?;
    if cpus.as_ref().is_some_and(CpuSet::is_empty) {
        return Err(wrong(Key::Cpus, "cpus is empty: leave it out to use all CPUs".to_owned()));
    }
    Ok(HostEntry {
        name: written.name.clone(),
        ssh: written.ssh.clone(),
        address: address.to_canonical(),
        kind: written.kind.clone(),
        cpus,
        become_root: become_words(written).map_err(|why| wrong(Key::Become, why))?,
    })
}

/// The words of `become`. A shell over there gets them as they are, so they have only characters that no shell reads.
fn become_words(written: &PlannedHost) -> Result<Vec<String>, String> {
    let Some(command) = &written.become_root else { return Ok(Vec::new()) };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@+ ".contains(c);
    let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    if words.is_empty() || words[0].starts_with('-') || !command.chars().all(is_plain) {
        return Err(format!(
            "become = {command:?} is not a command with its arguments: write one such as \"sudo -n\", without quotes in it"
        ));
    }
    if written.ssh.is_none() {
        return Err("become is for hosts with ssh: on this machine, start showdown as root".to_owned());
    }
    Ok(words)
}

fn not_a_name(name: &str) -> String {
    let rule = "use letters, digits, dots, underscores and hyphens, and begin with a letter or a digit";
    format!("{name:?} cannot be the name of a host: {rule}")
}

/// A name that can stand in `nginx@NAME`, in a list with commas, and in a file name.
fn is_host_name(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    name.len() <= 64 && name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_part)
}

fn is_label(text: &str) -> bool {
    (1..=100).contains(&text.chars().count()) && !text.chars().any(char::is_control)
}

/// Why a text cannot be a destination of ssh.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum DestinationError {
    #[error("ssh would take it for an option: it may not begin with a hyphen")]
    Option,
    #[error(
        "write what follows `ssh` on your command line, such as ops@old.example; options belong into ~/.ssh/config"
    )]
    NotOneWord,
}

fn check_destination(ssh: &str) -> Result<(), DestinationError> {
    match ssh {
        _ if ssh.starts_with('-') => Err(DestinationError::Option),
        _ if ssh.is_empty() || ssh.chars().any(|c| c.is_whitespace() || c.is_control()) => {
            Err(DestinationError::NotOneWord)
        }
        _ => Ok(()),
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
    fn a_plan_has_the_entry_and_is_checked_as_the_file_is() {
        let Hosts(hosts) = Hosts::parse("hosts.toml", FILE).expect("a good file");
        let planned = hosts[0].planned();
        let again = HostEntry::of_plan(&planned).expect("a good entry");
        assert_eq!(HostEntry { become_root: hosts[0].become_root.clone(), ..again }, hosts[0]);
        let ssh = |ssh: &str| PlannedHost { ssh: Some(ssh.to_owned()), ..planned.clone() };
        let address = |address: &str| PlannedHost { address: address.to_owned(), ..planned.clone() };
        let kind = |kind: &str| PlannedHost { kind: Some(kind.to_owned()), ..planned.clone() };
        for wrong in
            [ssh("-oProxyCommand=x"), ssh("a b"), address("0.0.0.0"), address("old"), kind("a\u{1b}[2J")]
        {
            let error = HostEntry::of_plan(&wrong).expect_err("it is wrong").to_string();
            assert!(error.starts_with("host old: "), "{error}");
        }
        assert!(hosts[0].check_private().is_ok());
        let public = HostEntry::of_plan(&address("192.0.2.1")).expect("an address");
        let error = public.check_private().expect_err("a public address").to_string();
        assert!(error.starts_with("host old: 192.0.2.1 is a public address"), "{error}");
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
            ("ops@old", "ops@old -v", ":3: ssh = \"ops@old -v.example\": write what follows `ssh`"),
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
