//! The wait until a server is ready: its probe is repeated until it succeeds, the time is up, the server or a companion before it ends,
//! or the user interrupts.

use std::sync::atomic::Ordering;
use std::time::Duration;

use host::Readiness;
use host::process::{Error, ProcessExit};
use load::connecting::other_loopback;
use load::drivers::ProtocolSpec;
use load::runner::{RunnerError, RunnerSession};

use crate::definition::ReadyProbe;
use crate::instance::error::{ConfigurationError, InstanceError};
use crate::instance::running::{Companions, Instance};

/// A server on this machine accepts or refuses a connection at once. A connection that hangs found the queue full.
const CONNECT: Duration = Duration::from_millis(250);

impl Instance {
    /// Waits until it is ready, or until it or one of the companions that were started before it has ended.
    pub(in crate::instance) fn wait_ready(&self, before: &Companions) -> Result<(), InstanceError> {
        let template = |error| ConfigurationError::Template(error).of(&self.server.name);
        match &self.server.ready.probe {
            ReadyProbe::Tcp => {
                let endpoint = self.endpoint();
                self.repeat(before, || match endpoint.connect(CONNECT) {
                    Ok(_) => Readiness::Ready,
                    Err(error) => Readiness::NotYet(format!(
                        "{endpoint} does not accept connections: {error}{}",
                        self.elsewhere()
                    )),
                })
            }
            ReadyProbe::Http(probe) => {
                let query = self.render_probe(probe).map_err(template)?;
                let access = self.access();
                self.repeat(before, || match access.get(&query) {
                    Ok(_) => Readiness::Ready,
                    Err(error) => Readiness::NotYet(format!("{error}{}", self.elsewhere())),
                })
            }
            ReadyProbe::Sql(statement) => {
                let statement = self.variables.render(statement).map_err(template)?;
                self.repeat(before, || match self.access().ask_sql(&statement, None) {
                    Ok(_) => Readiness::Ready,
                    Err(error) => Readiness::NotYet(error.to_string()),
                })
            }
            ReadyProbe::Command(command) => self.wait_for_command(command, before),
            ReadyProbe::Runner => self.wait_for_runner(before),
        }
    }

    /// Where the port is open instead, if the server listens on the other loopback address.
    fn elsewhere(&self) -> String {
        let other = if self.socket.is_none() { other_loopback(self.address) } else { None };
        other.map_or_else(String::new, |other| {
            format!("; it listens on {other} instead: let it listen on {{{{ host }}}}")
        })
    }

    fn wait_for_command(&self, command: &[String], before: &Companions) -> Result<(), InstanceError> {
        let command = self
            .variables
            .render_argv(command)
            .map_err(|error| ConfigurationError::Template(error).of(&self.server.name))?;
        self.repeat(before, || match self.run_tool(&command) {
            Ok(output) if output.ending == ProcessExit::Code(0) => Readiness::Ready,
            Ok(output) => Readiness::NotYet(format!("{} {}", command[0], output.ending)),
            Err(error) => Readiness::Never(error.to_string()),
        })
    }

    fn wait_for_runner(&self, before: &Companions) -> Result<(), InstanceError> {
        let ProtocolSpec::Runner(runner) = self.protocol(None)? else { return Ok(()) };
        let mut session = RunnerSession::open(&runner)
            .map_err(|error| ConfigurationError::Runner(error).of(&self.server.name))?;
        self.repeat(before, || match session.is_ready() {
            Ok(true) => Readiness::Ready,
            Ok(false) => Readiness::NotYet("it has not printed that it is ready".to_owned()),
            // How it ended will be known in a moment, and explains more.
            Err(RunnerError::Gone) => Readiness::NotYet(RunnerError::Gone.to_string()),
            Err(error) => Readiness::Never(error.to_string()),
        })
    }

    fn repeat(&self, before: &Companions, mut probe: impl FnMut() -> Readiness) -> Result<(), InstanceError> {
        let is_interrupted = || self.options.interrupted.load(Ordering::Relaxed);
        let outcome = self.running.wait_ready(self.server.ready.within, || {
            if is_interrupted() {
                return Readiness::Never("interrupted".to_owned());
            }
            if let Err(ended) = before.check_alive() {
                return Readiness::Never(ended.to_string());
            }
            probe()
        });
        match outcome {
            Ok(_) => Ok(()),
            Err(_) if is_interrupted() => Err(InstanceError::Interrupted),
            Err(Error::NotReady { name, pid, within, waited, reason, log }) => {
                let reason = reason + &self.other_ports();
                Err(Error::NotReady { name, pid, within, waited, reason, log }.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Where the server listens instead of its port.
    fn other_ports(&self) -> String {
        let listens_at = self.running.listens_at();
        if self.socket.is_some()
            || listens_at.is_empty()
            || listens_at.iter().any(|address| address.port() == self.address.port())
        {
            return String::new();
        }
        let listens_at: Vec<String> = listens_at.iter().map(ToString::to_string).collect();
        format!("; it listens on {} instead: let it listen on {{{{ port }}}}", listens_at.join(" and "))
    }
}
