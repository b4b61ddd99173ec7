//! `showdown selftest --clients`: each host tests itself, and all together load a server of known behaviour.

use std::io::{BufRead, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use clap::ValueEnum;
use load::client::LoadClient;
use machine::protocol::AgentProgram;
use machine::{HostClient, ProgramInput, ProgramOutput};
use serde_json::Value;
use truth::checks::clients::{FarServer, check};
use truth::clients_report::{ClientsReport, TestedClient};
use truth::instrument::CheckError;
use truth::known::account::Account;
use truth::known::behaviour::Behaviour;
use truth::selftest::SelftestPart;

use crate::args::clients::NamedClients;
use crate::args::options::AnswerFormat;
use crate::exit::CommandStatus;
use crate::interrupt;
use crate::show;

/// How often it looks whether it is interrupted.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Runs the verb with clients: these parts on each, or all.
pub fn run(
    named: &NamedClients,
    only: &[SelftestPart],
    seed: u64,
    format: AnswerFormat,
) -> anyhow::Result<CommandStatus> {
    let context = interrupt::context()?;
    let clients = named.open(&context, None)?;
    let Some(tested) = test_all(clients.all(), only, seed, &context.interrupted)? else {
        return Ok(CommandStatus::Interrupted);
    };
    let server_host = &clients.all()[0];
    let mut start = |behaviour: &Behaviour| -> Result<Box<dyn FarServer>, CheckError> {
        Ok(Box::new(KnownServer::start(server_host, behaviour)?))
    };
    let findings = match check(&clients.context(&context), &mut start, seed) {
        Err(_) if context.interrupted.load(Ordering::Relaxed) => return Ok(CommandStatus::Interrupted),
        findings => findings?,
    };
    let report = ClientsReport::new(tested, findings);
    format.print(&report, || show::selftest_clients::report(&report))?;
    Ok(if report.is_unfit() { CommandStatus::Invalid } else { CommandStatus::Success })
}

/// All hosts test themselves at the same time. None if the user interrupts.
fn test_all(
    clients: &[Arc<HostClient>],
    only: &[SelftestPart],
    seed: u64,
    interrupted: &AtomicBool,
) -> anyhow::Result<Option<Vec<TestedClient>>> {
    let mut options = vec![format!("--seed={seed}")];
    let names = only.iter().filter_map(|part| Some(part.to_possible_value()?.get_name().to_owned()));
    options.extend(names.map(|part| format!("--only={part}")));
    let program = AgentProgram::Selftest { options };
    let mut inputs = Vec::new();
    let mut readers = Vec::new();
    for client in clients {
        let (input, output) = client.start_program(program.clone())?;
        inputs.push(input);
        readers.push(thread::spawn(move || read_report(output)));
    }
    while readers.iter().any(|reader| !reader.is_finished()) {
        if interrupted.load(Ordering::Relaxed) {
            // The end of their input ends them.
            inputs.clear();
            for reader in readers {
                drop(reader.join());
            }
            return Ok(None);
        }
        thread::sleep(POLL_INTERVAL);
    }
    let reports = readers.into_iter().map(|reader| reader.join().expect("a reader does not panic"));
    let tested = clients
        .iter()
        .zip(reports)
        .map(|(client, report)| Ok(TestedClient { name: client.name().to_owned(), report: report? }));
    tested.collect::<Result<_, std::io::Error>>().map(Some).map_err(anyhow::Error::from)
}

/// The report of a host. One that is not fit ends with a status of its own, and has printed it before.
fn read_report(mut output: ProgramOutput) -> Result<Value, std::io::Error> {
    let mut text = String::new();
    let ended = output.read_to_string(&mut text);
    match (serde_json::from_str(&text), ended) {
        (Ok(report), _) => Ok(report),
        (Err(_), Err(why)) => Err(why),
        (Err(error), Ok(_)) => Err(error.into()),
    }
}

/// A known server on a host.
struct KnownServer {
    address: SocketAddr,
    input: ProgramInput,
    output: ProgramOutput,
}

impl KnownServer {
    fn start(host: &HostClient, behaviour: &Behaviour) -> Result<Self, CheckError> {
        let behaviour = Behaviour { host: host.address(), port: 0, ..behaviour.clone() };
        let program = AgentProgram::KnownServer { options: behaviour.arguments() };
        let (input, mut output) = host.start_program(program).map_err(boxed)?;
        let mut line = String::new();
        output.read_line(&mut line).map_err(boxed)?;
        let port = line.trim().parse().map_err(boxed)?;
        Ok(Self { address: SocketAddr::new(host.address(), port), input, output })
    }
}

impl FarServer for KnownServer {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn account(&mut self) -> Result<Account, CheckError> {
        writeln!(self.input, "account").and_then(|()| self.input.flush()).map_err(boxed)?;
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(boxed)?;
        serde_json::from_str(&line).map_err(boxed)
    }
}

fn boxed(error: impl std::error::Error + Send + Sync + 'static) -> CheckError {
    CheckError::Host(Box::new(error))
}
