//! What an agent does for each request about its machine, its network and its programs. Those about servers are in
//! [`server_answers`](super::server_answers).

use std::net::{IpAddr, TcpListener};

use host::Host;
use host::doctor::{self, HostEvidence};

use super::probe;
use super::work::Agent;
use crate::clock;
use crate::protocol::servers::{Interrupt, Reserve, Reserved};
use crate::protocol::{
    Answers, CallError, ClientDescription, Clocks, CloseProbe, Connect, DescribeClient, Examination, Examine,
    MeasureNetwork, MeasureThroughput, NetworkPath, OpenProbe, ProbePort, ReadClocks, StartProgram,
    system_text,
};

impl Answers<ReadClocks> for Agent {
    fn answer(&self, _: ReadClocks) -> Result<Clocks, CallError> {
        Ok(clock::read())
    }
}

impl Answers<Interrupt> for Agent {
    fn answer(&self, _: Interrupt) -> Result<(), CallError> {
        self.interrupt();
        Ok(())
    }
}

impl Answers<Examine> for Agent {
    fn answer(&self, call: Examine) -> Result<Examination, CallError> {
        examine(&call)
    }
}

impl Answers<OpenProbe> for Agent {
    fn answer(&self, call: OpenProbe) -> Result<ProbePort, CallError> {
        self.probes.open(&call)
    }
}

impl Answers<CloseProbe> for Agent {
    fn answer(&self, _: CloseProbe) -> Result<(), CallError> {
        self.probes.close();
        Ok(())
    }
}

impl Answers<Connect> for Agent {
    fn answer(&self, call: Connect) -> Result<(), CallError> {
        probe::connect(&call)
    }
}

impl Answers<MeasureNetwork> for Agent {
    fn answer(&self, call: MeasureNetwork) -> Result<NetworkPath, CallError> {
        probe::measure(&call)
    }
}

impl Answers<MeasureThroughput> for Agent {
    fn answer(&self, call: MeasureThroughput) -> Result<f64, CallError> {
        probe::measure_throughput(&call)
    }
}

impl Answers<DescribeClient> for Agent {
    fn answer(&self, call: DescribeClient) -> Result<ClientDescription, CallError> {
        describe_client(&call)
    }
}

impl Answers<StartProgram> for Agent {
    fn answer(&self, call: StartProgram) -> Result<(), CallError> {
        self.programs.start(&call)
    }
}

impl Answers<Reserve> for Agent {
    fn answer(&self, call: Reserve) -> Result<Reserved, CallError> {
        let allowed_cpus = self.servers.reserve(call.owner)?;
        Ok(Reserved { allowed_cpus, address: check_address(call.address) })
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
    use std::time::Duration;

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
