//! How the programs of two servers of this machine differ: file, build, memory allocator, C library, limits. An answer that compares a
//! candidate with the old version has all of these in it. In 2006 a factor of 8 was 4.5 once both sides had the same allocator.

use std::net::SocketAddr;

use host::facts::differences;
use host::process::listening_at;
use host::{Host, ProcessFacts};
use serde::{Deserialize, Serialize};

use crate::name::Name;

/// Each server has its own arguments, such as the port.
const OWN: &str = "command_line";

/// A fact that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/LIVE-TRAFFIC.md has every key, and a test compares")]
pub struct ProgramDifference {
    pub fact: String,
    pub of_candidate: Option<String>,
    pub of_other: Option<String>,
}

/// The programs of the candidate and of a server of the old version, as they were before the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/LIVE-TRAFFIC.md has every key, and a test compares")]
pub struct ProgramComparison {
    pub other: String,
    pub differences: Vec<ProgramDifference>,
    pub not_compared: Option<String>,
}

impl ProgramComparison {
    /// Compares the programs that listen at these addresses: of the candidate, and of the other server.
    pub fn of(candidate: SocketAddr, other: (&Name, SocketAddr)) -> Self {
        let (name, address) = other;
        let mut comparison = Self { other: name.to_string(), differences: Vec::new(), not_compared: None };
        match facts_at(candidate).and_then(|of_candidate| Ok((of_candidate, facts_at(address)?))) {
            Ok((of_candidate, of_other)) => comparison.differences = unlike(&of_candidate, &of_other),
            Err(reason) => comparison.not_compared = Some(reason),
        }
        comparison
    }

    /// Whether the programs themselves differ: a control that does is not the old version. Limits and the environment may be its own.
    pub fn is_other_program(&self) -> bool {
        self.differences.iter().any(|difference| {
            let fact = difference.fact.as_str();
            ["executable", "build_id", "libc"].contains(&fact) || fact.starts_with("allocator.")
        })
    }

    /// In a sentence: "candidate and old1 differ in allocator.name (jemalloc, glibc malloc)".
    pub fn in_words(&self) -> String {
        self.in_words_of("candidate")
    }

    /// The same, if the first server is another one than the candidate.
    pub fn in_words_of(&self, first: &str) -> String {
        let other = archive::printable::one_line(&self.other);
        if let Some(reason) = &self.not_compared {
            return format!("the programs of {first} and {other} were not compared: {reason}");
        }
        if self.differences.is_empty() {
            return format!("{first} and {other} have the same program, allocator and C library");
        }
        let mut parts = Vec::new();
        for ProgramDifference { fact, of_candidate, of_other } in &self.differences {
            let of_candidate = of_candidate.as_deref().unwrap_or("none");
            let of_other = of_other.as_deref().unwrap_or("none");
            parts.push(format!("{fact} ({of_candidate}, {of_other})"));
        }
        archive::printable::one_line(&format!("{first} and {other} differ in {}", parts.join("; ")))
            .into_owned()
    }
}

/// The processes that listen at an address, one at least; otherwise why none is seen.
pub(super) fn processes_at(address: SocketAddr) -> Result<Vec<u32>, String> {
    let pids = listening_at(address);
    if pids.is_empty() {
        return Err(unseen_at(address));
    }
    Ok(pids)
}

fn facts_at(address: SocketAddr) -> Result<ProcessFacts, String> {
    let pid = processes_at(address)?[0];
    Host::local().process_facts(pid).ok_or_else(|| unseen_at(address))
}

fn unseen_at(address: SocketAddr) -> String {
    format!("no process that this user may see listens at {address} on this machine")
}

fn unlike(candidate: &ProcessFacts, other: &ProcessFacts) -> Vec<ProgramDifference> {
    let mut found = differences(&candidate.flat(), &other.flat());
    found.retain(|difference| difference.key != OWN);
    let mut unlike = Vec::new();
    for difference in found {
        unlike.push(ProgramDifference {
            fact: difference.key,
            of_candidate: difference.a,
            of_other: difference.b,
        });
    }
    unlike
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn one_program_is_like_itself_and_another_allocator_is_named() {
        let [candidate, other] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
        let addresses = [candidate, other].map(|one| (one.local_addr().expect("bound"), one));
        let name: Name = "old1".parse().expect("a name");
        let same = ProgramComparison::of(addresses[0].0, (&name, addresses[1].0));
        assert_eq!(same.in_words(), "candidate and old1 have the same program, allocator and C library");
        let elsewhere = ProgramComparison::of(addresses[0].0, (&name, "192.0.2.1:80".parse().expect("one")));
        assert!(elsewhere.in_words().contains("listens at 192.0.2.1:80"), "{}", elsewhere.in_words());
        let facts = facts_at(addresses[0].0).expect("of this process");
        let mut changed = facts.clone();
        if let Some(allocator) = &mut changed.allocator {
            allocator.name = "jemalloc".to_owned();
        }
        changed.command_line.push("--port".to_owned());
        let differences = unlike(&changed, &facts);
        assert!(!same.is_other_program());
        let other = ProgramComparison { differences, ..same };
        assert!(other.is_other_program());
        assert!(other.in_words_of("control").starts_with("control and old1 differ in"));
        let words = other.in_words();
        assert_eq!(words, "candidate and old1 differ in allocator.name (jemalloc, glibc malloc)");
    }
}
