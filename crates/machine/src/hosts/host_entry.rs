//! An entry of the hosts file or of a plan: how a machine is reached, and what is wrong with an entry that somebody wrote or
//! that the host contradicts. The file is left to [`hosts_file`](crate::hosts::hosts_file).

use std::net::IpAddr;

use archive::model::PlannedHost;
use host::CpuSet;

use crate::errors::machine::MachineError;
use crate::protocol::CallError;

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
        if load::drivers::target::is_private(self.address) {
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
pub fn check_is_one_machine<'h>(
    address: IpAddr,
    clients: impl IntoIterator<Item = &'h HostEntry>,
) -> Result<(), OtherLoopback> {
    match clients.into_iter().find(|client| client.is_elsewhere()) {
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

/// A key of an entry.
pub enum Key {
    Name,
    Ssh,
    Address,
    Kind,
    Cpus,
    Become,
}

/// What is wrong with an entry.
pub struct WrongEntry {
    /// The wrong key.
    pub key: Key,
    /// The value, why it is wrong, and what to write.
    pub why: String,
}

/// Checks an entry as it is written, in a hosts file or in a plan.
pub fn check(written: &PlannedHost) -> Result<HostEntry, WrongEntry> {
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

/// Why a text is no name of a host.
pub fn not_a_name(name: &str) -> String {
    let rule = "use letters, digits, dots, underscores and hyphens, and begin with a letter or a digit";
    format!("{name:?} cannot be the name of a host: {rule}")
}

/// A name that can stand in `nginx@NAME`, in a list with commas, and in a file name.
pub fn is_host_name(name: &str) -> bool {
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
    #[error("write user@host, such as ops@old.example, or a Host of ~/.ssh/config; options belong there")]
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

/// What is wrong with the entry, if anything: whether the host has the address and the CPUs. `address` is whether it could
/// listen there.
pub(crate) fn host_problems(
    entry: &HostEntry,
    address: &Result<(), CallError>,
    allowed_cpus: &CpuSet,
) -> Vec<MachineError> {
    let mut problems = Vec::new();
    if let Err(why) = address {
        problems.push(MachineError::Address { host: entry.name.clone(), why: why.to_string() });
    }
    if let Some(cpus) = entry.cpus.as_ref().filter(|cpus| cpus.intersection(allowed_cpus) != **cpus) {
        let (host, wanted, has) = (entry.name.clone(), cpus.to_string(), allowed_cpus.to_string());
        problems.push(MachineError::Cpus { host, wanted, has });
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_has_the_entry_and_is_checked_as_the_file_is() {
        let old = HostEntry {
            name: "old".to_owned(),
            ssh: Some("ops@old.example".to_owned()),
            address: [10, 1, 0, 5].into(),
            kind: Some("T2000".to_owned()),
            cpus: Some("2-31".parse().expect("CPUs")),
            become_root: vec!["sudo".to_owned(), "-n".to_owned()],
        };
        let planned = old.planned();
        assert_eq!(HostEntry::of_plan(&planned), Ok(old.clone()));
        let ssh = |ssh: &str| PlannedHost { ssh: Some(ssh.to_owned()), ..planned.clone() };
        let address = |address: &str| PlannedHost { address: address.to_owned(), ..planned.clone() };
        let kind = |kind: &str| PlannedHost { kind: Some(kind.to_owned()), ..planned.clone() };
        for wrong in
            [ssh("-oProxyCommand=x"), ssh("a b"), address("0.0.0.0"), address("old"), kind("a\u{1b}[2J")]
        {
            let error = HostEntry::of_plan(&wrong).expect_err("it is wrong").to_string();
            assert!(error.starts_with("host old: "), "{error}");
        }
        assert!(old.check_private().is_ok());
        let public = HostEntry::of_plan(&address("192.0.2.1")).expect("an address");
        let error = public.check_private().expect_err("a public address").to_string();
        assert!(error.starts_with("host old: 192.0.2.1 is a public address"), "{error}");
    }
}
