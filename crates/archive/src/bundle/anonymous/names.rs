//! What identifies a machine or a user, and is left out of an export: what the exporting program knows, and what a run itself names in
//! its plan and its facts.

use crate::{files, layout, model::Plan};
use serde_json::Value;
use std::path::Path;

/// What identifies the machine and the user that export a run. Names that the run itself has are added to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// Names of the host.
    pub hosts: Vec<String>,
    /// Names of users.
    pub users: Vec<String>,
    /// Home directories.
    pub homes: Vec<String>,
    /// Other directories, such as the working directory.
    pub directories: Vec<String>,
    /// Paths relative to the working directory, such as those of the command line.
    pub paths: Vec<String>,
    /// Serial numbers and other identifiers of hardware and installation.
    pub serials: Vec<String>,
}

/// Adds the names of hosts in facts and plan, and users whose home directories a file names.
pub(super) fn add_names(text: &str, identity: &mut Identity) {
    if let Ok(facts) = serde_json::from_str::<Value>(text) {
        let others = facts["hosts"].as_object().into_iter().flat_map(|hosts| hosts.values());
        for host in others.chain([&facts["host"]]) {
            identity.hosts.extend(host["machine.hostname"].as_str().map(str::to_owned));
        }
    }
    if let Ok(plan) = text.parse::<Plan>() {
        for word in plan.command.iter().chain(plan.concurrency.iter().filter_map(|steps| steps.url.as_ref()))
        {
            add_of_word(word, identity);
        }
        for (option, value) in plan.command.iter().zip(plan.command.iter().skip(1)) {
            if METERS.contains(&option.as_str()) {
                identity.hosts.extend(host_of_meter(value));
            }
        }
        for host in plan.hosts {
            // The user and the host of `ssh`; its address is replaced as every address is.
            let (user, at) = host.ssh.as_deref().map_or((None, None), |ssh| match ssh.rsplit_once('@') {
                Some((user, at)) => (Some(user.to_owned()), Some(at.to_owned())),
                None => (None, Some(ssh.to_owned())),
            });
            identity.users.extend(user);
            identity.hosts.extend(at.into_iter().chain([host.name]));
        }
    }
    for (at, home) in text.match_indices("/home/") {
        let rest = &text[at + home.len()..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || "._-".contains(c))).unwrap_or(rest.len());
        if end > 0 {
            identity.users.push(rest[..end].to_owned());
            identity.homes.push(format!("{home}{}", &rest[..end]));
        }
    }
}

/// Options whose value is a meter: `KIND=ADDRESS`.
const METERS: [&str; 2] = ["--power", "--source"];

/// The host of a URL in a word of the command line, and its path relative to the working directory.
fn add_of_word(word: &str, identity: &mut Identity) {
    for option in METERS {
        if let Some(value) = word.strip_prefix(option).and_then(|rest| rest.strip_prefix('=')) {
            identity.hosts.extend(host_of_meter(value));
        }
    }
    if let Some((_, rest)) = word.split_once("://") {
        return identity.hosts.extend(host_of(rest));
    }
    for value in word.split(['=', ',']) {
        let is_path = |c: char| c.is_alphanumeric() || "/._-+~@".contains(c);
        let is_relative = !value.starts_with(['/', '-']) && value.contains('/') && value.chars().all(is_path);
        // Numbers with a unit, such as 100/s, and types of content are no paths.
        if is_relative && !value.starts_with(|c: char| c.is_ascii_digit()) {
            identity.paths.push(value.trim_start_matches("./").to_owned());
        }
    }
}

/// The host of a meter.
fn host_of_meter(meter: &str) -> Option<String> {
    let address = meter.split_once('=').map_or(meter, |(_, address)| address);
    host_of(address.split_once("://").map_or(address, |(_, rest)| rest))
}

/// The host that an address without its scheme begins with, after a user. Addresses of IP are found by their form.
fn host_of(address: &str) -> Option<String> {
    let authority = address.split(['/', '?', '#', ',']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    let is_address = host.starts_with('[') || host.chars().all(|c| c.is_ascii_digit() || c == '.');
    (!host.is_empty() && !is_address).then(|| host.to_owned())
}

/// Words of the plan that are names of the program or of a workload. They stay, also if a host or user has that name.
pub(super) fn words_of_plan(dir: &Path) -> Vec<String> {
    let plan = files::read(&dir.join(layout::PLAN)).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let Some(plan) = plan.and_then(|text| text.parse::<Plan>().ok()) else { return Vec::new() };
    let mut words = vec![plan.workload];
    words.extend(plan.on_op);
    for variant in plan.variants {
        words.push(variant.server);
        words.extend(variant.knobs.into_keys());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_urls_and_meters_and_relative_paths_are_found() {
        let mut identity = Identity::default();
        for word in [
            "http://build.acme.example:8080/x",
            "--power=shelly=http://me@plug7.rack3.acme.example",
            "https://[::1]/x",
            "http://127.0.0.1/x",
            "nginx:root=acme/htdocs,workers=2",
            "./acme/targets-secret.toml",
            "100/s",
            "-o",
        ] {
            add_of_word(word, &mut identity);
        }
        assert_eq!(
            identity.hosts,
            ["build.acme.example", "plug7.rack3.acme.example", "plug7.rack3.acme.example"]
        );
        assert_eq!(identity.paths, ["acme/htdocs", "acme/targets-secret.toml"]);
        assert_eq!(host_of_meter("apc-rpdu2=pdu1.acme.example"), Some("pdu1.acme.example".to_owned()));
        assert_eq!(host_of_meter("ipmi=10.1.2.3"), None);
    }
}
