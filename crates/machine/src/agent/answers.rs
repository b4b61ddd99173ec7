//! What an agent does for each request.

use std::net::{IpAddr, TcpListener};
use std::thread;

use host::Host;
use host::doctor::{self, HostEvidence};
use serde::Serialize;
use serde_json::Value;

use super::probe;
use super::probe_server::ProbeServers;
use crate::clock;
use crate::protocol::{CallError, Examination, Examine, Request, system_text};

/// What an agent has between requests.
#[derive(Debug, Default)]
pub(super) struct Agent {
    servers: ProbeServers,
}

/// The clocks, as a reply.
pub(super) fn clocks() -> Value {
    value(clock::read())
}

/// The reply to a request.
pub(super) fn answer(agent: &Agent, request: Request) -> Result<Value, CallError> {
    match request {
        Request::ReadClocks(_) => Ok(clocks()),
        Request::Examine(call) => examine(&call).map(value),
        Request::OpenProbe(call) => agent.servers.open(&call).map(value),
        Request::CloseProbe(_) => {
            agent.servers.close();
            Ok(value(()))
        }
        Request::Connect(call) => probe::connect(&call).map(value),
        Request::MeasureNetwork(call) => probe::measure(&call).map(value),
    }
}

fn value(answer: impl Serialize) -> Value {
    serde_json::to_value(answer).expect("answers are plain data")
}

fn examine(call: &Examine) -> Result<Examination, CallError> {
    let host = Host::local();
    let telemetry = |error: std::io::Error| CallError::Telemetry { why: system_text(&error) };
    let sampler = host.sample(Vec::new(), call.sampled / 4).map_err(telemetry)?;
    thread::sleep(call.sampled);
    let allowed_cpus = host.allowed_cpus().map_err(telemetry)?;
    let evidence = HostEvidence { facts: host.facts(), allowed_cpus, idle: sampler.stop() };
    let findings = doctor::examine(&evidence);
    let HostEvidence { facts, allowed_cpus, .. } = evidence;
    let other_measurement = host::lock::measuring_now();
    let address = check_address(call.address);
    Ok(Examination { facts, findings, allowed_cpus, other_measurement, address })
}

/// Whether a server could listen on this address.
fn check_address(address: IpAddr) -> Result<(), CallError> {
    let listening = TcpListener::bind((address, 0));
    listening.map(drop).map_err(|error| CallError::Listen { address, why: system_text(&error) })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_examination_has_facts_findings_and_the_address() -> Result<(), CallError> {
        let sampled = Duration::from_millis(40);
        let here = examine(&Examine { sampled, address: [127, 0, 0, 1].into() })?;
        assert!(here.facts.cpu.online > 0 && !here.findings.is_empty() && !here.allowed_cpus.is_empty());
        assert_eq!(here.address, Ok(()));
        let elsewhere = check_address([192, 0, 2, 1].into()).expect_err("an address of nobody").to_string();
        assert!(elsewhere.starts_with("cannot listen on 192.0.2.1: "), "{elsewhere}");
        Ok(())
    }
}
