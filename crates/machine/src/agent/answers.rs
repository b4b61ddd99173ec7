//! What an agent does for each request.

use std::net::{IpAddr, TcpListener};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use host::Host;
use host::doctor::{self, HostEvidence};
use load::engine::RunContext;
use serde_json::Value;

use super::probe;
use super::probe_server::ProbeServers;
use super::programs::Programs;
use super::servers::ServerHost;
use super::value::value;
use crate::clock;
use crate::protocol::servers::Reserved;
use crate::protocol::{
    CallError, ClientDescription, DescribeClient, Examination, Examine, Request, system_text,
};

/// How long an agent that ends waits for requests that are being answered: they have been interrupted.
const LAST_WORK: Duration = Duration::from_secs(5);

/// What an agent has between requests.
pub(super) struct Agent {
    probes: ProbeServers,
    servers: ServerHost,
    /// The programs that it runs.
    pub programs: Programs,
    /// Requests that are being answered.
    at_work: Arc<()>,
}

impl Agent {
    /// An agent that loads data in this context, and runs these programs.
    pub fn new(context: RunContext, programs: Programs) -> Self {
        Self {
            probes: ProbeServers::default(),
            servers: ServerHost::new(context),
            programs,
            at_work: Arc::default(),
        }
    }

    /// A request is being answered until this is dropped.
    pub fn begin_work(&self) -> Arc<()> {
        Arc::clone(&self.at_work)
    }

    /// Ends what takes long.
    pub fn interrupt(&self) {
        self.servers.interrupt();
    }

    /// Stops all servers and programs, and restores the machine's settings.
    pub fn end(&self) {
        self.interrupt();
        self.programs.end();
        let until = Instant::now() + LAST_WORK;
        while Arc::strong_count(&self.at_work) > 1 && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        self.probes.close();
        self.servers.end();
    }
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
        Request::OpenProbe(call) => agent.probes.open(&call).map(value),
        Request::CloseProbe(_) => {
            agent.probes.close();
            Ok(value(()))
        }
        Request::Connect(call) => probe::connect(&call).map(value),
        Request::MeasureNetwork(call) => probe::measure(&call).map(value),
        Request::MeasureThroughput(call) => probe::measure_throughput(&call).map(value),
        Request::DescribeClient(call) => describe_client(&call).map(value),
        Request::StartProgram(call) => agent.programs.start(&call).map(value),
        Request::Reserve(call) => {
            let allowed_cpus = agent.servers.reserve(call.owner)?;
            Ok(value(Reserved { allowed_cpus, address: check_address(call.address) }))
        }
        call => agent.servers.answer(call),
    }
}

fn describe_client(call: &DescribeClient) -> Result<ClientDescription, CallError> {
    let allowed_cpus = Host::local().allowed_cpus();
    Ok(ClientDescription {
        connections_a_process: load::processes::connections_a_process(),
        allowed_cpus: allowed_cpus.map_err(|error| CallError::Telemetry { why: system_text(&error) })?,
        other_measurement: host::lock::measuring_now(Some(call.owner)),
        address: check_address(call.address),
    })
}

fn examine(call: &Examine) -> Result<Examination, CallError> {
    let host = Host::local();
    let telemetry = |error: std::io::Error| CallError::Telemetry { why: system_text(&error) };
    let evidence = host.evidence(call.sampled).map_err(telemetry)?;
    let findings = doctor::examine(&evidence);
    let HostEvidence { facts, allowed_cpus, .. } = evidence;
    let other_measurement = host::lock::measuring_now(None);
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
    use super::*;

    #[test]
    fn an_examination_has_facts_findings_and_the_address() -> Result<(), CallError> {
        let sampled = Duration::from_millis(40);
        let here = examine(&Examine { sampled, address: [127, 0, 0, 1].into() })?;
        assert!(here.facts.cpu.online > 0 && !here.findings.is_empty() && !here.allowed_cpus.is_empty());
        assert_eq!(here.address, Ok(()));
        let elsewhere = check_address([192, 0, 2, 1].into()).expect_err("an address of nobody").to_string();
        assert!(elsewhere.starts_with("cannot listen on 192.0.2.1 ("), "{elsewhere}");
        Ok(())
    }
}
