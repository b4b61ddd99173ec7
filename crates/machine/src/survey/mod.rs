//! Asks all hosts at the same time who they are, and measures the network between them: `showdown hosts`.

mod facts_line;
mod network;
mod pairs;
mod report;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use host::Host;
use host::doctor::HostFinding;

use self::facts_line::facts_line;
use self::network::Node;
pub use self::report::{HostFound, HostReport, HostsReport, NetworkReport};
use crate::clock::ClockOffset;
use crate::connection::{Connection, end_all};
use crate::errors::machine::MachineError;
use crate::host_text::host_text;
use crate::hosts::agent_access::AgentAccess;
use crate::hosts::host_entry::HostEntry;
use crate::hosts::host_entry::host_problems;
use crate::hosts::hosts_file::Hosts;
use crate::hosts::one_kernel::{THIS_MACHINE, on_one_kernel};
use crate::protocol::Examine;
use crate::transport::OpenProgress;

/// How long the idle hosts are sampled.
const SAMPLED: Duration = Duration::from_secs(1);

/// How long an examination may take on a host that is busy.
const EXAMINATION: Duration = Duration::from_mins(1);

/// A wall clock that is off by more is said.
const MOST_WALL_OFFSET: Duration = Duration::from_secs(1);

/// How a survey is made.
#[derive(Debug, Clone)]
pub struct SurveyOptions {
    /// How the hosts are reached.
    pub reach: AgentAccess,
    /// How long the bytes of each throughput between hosts are counted, at least; none to leave the network out.
    pub network: Option<Duration>,
}

/// What a survey does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurveyEvent<'a> {
    /// The agent of a host is started.
    Opening {
        /// The host.
        host: &'a str,
        /// How far it is.
        progress: OpenProgress,
    },
    /// A host is examined.
    Examining {
        /// The host.
        host: &'a str,
    },
    /// A host has told everything, or has failed.
    Done {
        /// The host.
        host: &'a str,
    },
    /// The network between two hosts is measured.
    Network {
        /// The one.
        from: &'a str,
        /// The other.
        to: &'a str,
    },
}

/// Asks all hosts. Those that fail have their problem in the report.
pub fn survey(
    hosts: &Hosts,
    options: &SurveyOptions,
    interrupted: &Arc<AtomicBool>,
    observe: &(dyn Fn(SurveyEvent<'_>) + Sync),
) -> Result<HostsReport, MachineError> {
    let asked: Vec<(HostReport, Option<Connection>)> = thread::scope(|scope| {
        let ask = |entry| move || ask(entry, options, interrupted, observe);
        let threads: Vec<_> = hosts.0.iter().map(|entry| scope.spawn(ask(entry))).collect();
        let joined = threads.into_iter().map(|thread| thread.join().expect("a host's thread does not panic"));
        joined.collect::<Result<_, MachineError>>()
    })?;
    let (mut reports, connections): (Vec<HostReport>, Vec<Option<Connection>>) = asked.into_iter().unzip();
    let mut network = Vec::new();
    if let Some(each) = options.network {
        let nodes: Vec<Node<'_>> = hosts
            .0
            .iter()
            .zip(reports.iter().zip(&connections))
            .filter_map(|(entry, (report, connection))| {
                // What is wrong with a host would be said of each of its networks again.
                let connection = connection.as_ref().filter(|_| report.problems.is_empty())?;
                Some(Node { name: &entry.name, address: entry.address, connection })
            })
            .collect();
        let measured =
            network::measure(&nodes, each, &|from, to| observe(SurveyEvent::Network { from, to }))?;
        for report in &mut reports {
            if let Some(problem) = measured.lost.get(&report.name) {
                report.reachable = false;
                report.problems.push(problem.clone());
            }
        }
        network = measured.paths;
    }
    end_all(connections.into_iter().flatten());
    let notes = same_kernel(&reports);
    Ok(HostsReport { hosts: reports, network, notes })
}

/// Asks one host. Only an interruption is an error.
fn ask(
    entry: &HostEntry,
    options: &SurveyOptions,
    interrupted: &Arc<AtomicBool>,
    observe: &(dyn Fn(SurveyEvent<'_>) + Sync),
) -> Result<(HostReport, Option<Connection>), MachineError> {
    let host = entry.name.as_str();
    let mut report = HostReport {
        name: entry.name.clone(),
        ssh: entry.ssh.clone(),
        address: entry.address.to_string(),
        kind: entry.kind.clone(),
        reachable: false,
        problems: Vec::new(),
        cautions: Vec::new(),
        found: None,
    };
    let transport = options.reach.transport(entry);
    let opening = |progress| observe(SurveyEvent::Opening { host, progress });
    let asked = Connection::open(host, &transport, interrupted, &opening).and_then(|connection| {
        observe(SurveyEvent::Examining { host });
        // Before the examination, which keeps the host busy.
        let clock = connection.clock_offset()?;
        let examine = Examine { sampled: SAMPLED, address: entry.address };
        Ok((connection.call(examine, EXAMINATION)?, clock, connection))
    });
    observe(SurveyEvent::Done { host });
    let (examination, clock, connection) = match asked {
        Ok(asked) => asked,
        Err(MachineError::Interrupted) => return Err(MachineError::Interrupted),
        Err(error) => {
            report.problems.push(error.to_string());
            return Ok((report, None));
        }
    };
    report.reachable = true;
    let problems = host_problems(entry, &examination.address, &examination.allowed_cpus);
    report.problems = problems.iter().map(MachineError::to_string).collect();
    report.cautions.extend(wall_clock_off(&clock));
    report.cautions.extend(examination.other_measurement.as_ref().map(|holder| {
        let holder = host_text(holder);
        format!("another showdown is measuring there {holder}: what is measured now disturbs both")
    }));
    let agent = connection.agent();
    report.found = Some(HostFound {
        version: agent.version.clone(),
        user_id: agent.uid,
        summary: host_text(&facts_line(&examination.facts)),
        facts: examination.facts.flat().into_iter().map(in_one_line).collect(),
        cpus: entry.cpus.as_ref().unwrap_or(&examination.allowed_cpus).to_string(),
        allowed_cpus: examination.allowed_cpus.to_string(),
        clock,
        findings: examination.findings.into_iter().map(finding_in_one_line).collect(),
    });
    Ok((report, Some(connection)))
}

/// A fact with texts of one line.
fn in_one_line((name, value): (String, String)) -> (String, String) {
    (host_text(&name), host_text(&value))
}

/// A finding with texts of one line.
fn finding_in_one_line(finding: HostFinding) -> HostFinding {
    let HostFinding { id, level, found, why, remedy } = finding;
    HostFinding {
        id: host_text(&id).into(),
        level,
        found: host_text(&found),
        why: host_text(&why).into(),
        remedy: remedy.map(|remedy| host_text(&remedy)),
    }
}

/// A sentence where the wall clocks of two machines differ by more than their logs should.
fn wall_clock_off(clock: &ClockOffset) -> Option<String> {
    let off = Duration::from_nanos(clock.wall_ns.unsigned_abs());
    let direction = if clock.wall_ns > 0 { "ahead of" } else { "behind" };
    (off > MOST_WALL_OFFSET + Duration::from_nanos(clock.error_ns)).then(|| {
        format!(
            "its wall clock is {:.1} s {direction} this machine's: set it (chrony, systemd-timesyncd); measurements do \
             not depend on it, dates in logs do",
            off.as_secs_f64()
        )
    })
}

/// Hosts that run on one kernel, and this machine with those that ssh has led back to it.
fn same_kernel(reports: &[HostReport]) -> Vec<String> {
    let boot_of = |report: &HostReport| report.found.as_ref()?.facts.get("kernel.boot_id").cloned();
    let mut machines: Vec<(&str, String)> =
        reports.iter().filter_map(|report| Some((report.name.as_str(), boot_of(report)?))).collect();
    let leads_back = |boot: &String| {
        reports.iter().any(|report| report.ssh.is_some() && boot_of(report).as_ref() == Some(boot))
    };
    if let Some(own) = Host::local().boot_id().filter(leads_back) {
        machines.insert(0, (THIS_MACHINE, own));
    }
    on_one_kernel(machines.iter().map(|(name, boot)| (*name, boot.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_clock_that_is_minutes_off_is_said_and_one_within_the_error_is_not() {
        let clock = |wall_ns, error_ns| ClockOffset {
            monotonic_ns: 0,
            wall_ns,
            error_ns,
            round_trip_ns: 2 * error_ns,
        };
        let behind = wall_clock_off(&clock(-200_400_000_000, 1_000)).expect("it is off");
        assert!(behind.starts_with("its wall clock is 200.4 s behind this machine's: set it"), "{behind}");
        let ahead = wall_clock_off(&clock(1_100_000_000, 1_000)).expect("it is off");
        assert!(ahead.starts_with("its wall clock is 1.1 s ahead of"), "{ahead}");
        assert_eq!(wall_clock_off(&clock(1_100_000_000, 200_000_000)), None);
    }
}
