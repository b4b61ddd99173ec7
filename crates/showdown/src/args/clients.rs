//! The option `--clients` of several verbs: hosts that make a load together.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use load::client::LoadClient;
use load::engine::RunContext;
use machine::load_client;
use machine::survey::SurveyEvent;
use machine::{AgentAccess, HostClient, HostEntry, Hosts, MachineError, check_is_one_machine, end_all};

use crate::exit::{InterruptedError, usage};
use crate::print::note;
use crate::show::progress::hosts_progress::HostsProgress;

/// Hosts that make the load.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct ClientOptions {
    /// Make the load on these hosts of the hosts file together, instead of on this machine
    #[arg(long, value_name = "HOSTS", value_delimiter = ',', help_heading = "Clients")]
    pub clients: Vec<String>,

    /// Read the hosts from this file; without it, from hosts.toml of the working directory if that is yours
    #[arg(long, value_name = "FILE", help_heading = "Clients")]
    pub hosts: Option<PathBuf>,

    /// Use this build on hosts of this architecture, such as aarch64=showdown-aarch64
    #[arg(long, value_name = "ARCHITECTURE=PATH", help_heading = "Clients")]
    pub program: Vec<String>,
}

/// The clients of a load, as the hosts file has them.
pub struct NamedClients {
    hosts: Vec<HostEntry>,
    builds: Vec<String>,
}

impl ClientOptions {
    /// Refuses a hosts file, and builds for hosts, where the command names no host: they would have no effect. `remedy`: how it
    /// names one.
    pub fn refuse_without_host(&self, names_host: bool, remedy: &str) -> anyhow::Result<()> {
        let given = [("--hosts", self.hosts.is_some()), ("--program", !self.program.is_empty())];
        match given.into_iter().find(|(_, is_given)| *is_given && !names_host) {
            Some((option, _)) => Err(usage(format!("{option} has no effect without a host: {remedy}"))),
            None => Ok(()),
        }
    }

    /// The clients that the user has named; none where this machine makes the load. Connects to none yet.
    pub fn named(&self) -> anyhow::Result<Option<NamedClients>> {
        if self.clients.is_empty() {
            self.refuse_without_host(false, "pass --clients HOSTS")?;
            return Ok(None);
        }
        let hosts = Hosts::read(self.hosts.as_deref()).map_err(usage)?;
        let named = load_client::named(&hosts, &self.clients).map_err(usage)?;
        let hosts = named.into_iter().cloned().collect();
        Ok(Some(NamedClients { hosts, builds: self.program.clone() }))
    }
}

impl NamedClients {
    /// How many there are.
    pub fn count(&self) -> u32 {
        u32::try_from(self.hosts.len()).expect("a hosts file has few hosts")
    }

    /// Of a server's addresses, the first that all clients can mean; none if they mean different machines by each, or speak
    /// another family.
    pub fn common_address(&self, addresses: &[SocketAddr]) -> anyhow::Result<SocketAddr> {
        let same_family = |to: &&SocketAddr| self.hosts.iter().all(|h| h.address.is_ipv4() == to.is_ipv4());
        let Some(to) = addresses.iter().find(same_family) else {
            let (to, host) = (addresses[0].ip(), &self.hosts[0]);
            return Err(usage(format!(
                "client {} has the address {}, from which it cannot reach {to}: give all of one family",
                host.name, host.address
            )));
        };
        check_is_one_machine(to.ip(), &self.hosts).map_err(usage)?;
        Ok(*to)
    }

    /// Connects to all, and notes what a reader of the result must know.
    pub fn open(&self, context: &RunContext, server: Option<SocketAddr>) -> anyhow::Result<OpenClients> {
        let hosts: Vec<&HostEntry> = self.hosts.iter().collect();
        let reach = AgentAccess::to(&self.hosts, &self.builds).map_err(usage)?;
        let progress = HostsProgress::start();
        let opened = load_client::open(&hosts, &reach, &context.interrupted, &|host, progress_of_host| {
            progress.observe(SurveyEvent::Opening { host, progress: progress_of_host });
        });
        progress.finish();
        let clients = opened.map_err(|error| match error {
            MachineError::Interrupted => anyhow::Error::from(InterruptedError("before the load began")),
            error if error.is_of_hosts_file() => usage(error),
            other => other.into(),
        })?;
        for client in &clients {
            if let Some(holder) = client.other_measurement() {
                note(&format!(
                    "another showdown is measuring on client {} {holder}; both results may be wrong",
                    client.name()
                ));
            }
            if server.is_some_and(|server| server.ip() == client.address()) {
                note(&format!(
                    "client {} is also the server's host: they share its CPUs, which changes the result",
                    client.name()
                ));
            }
        }
        Ok(OpenClients(clients))
    }
}

/// Clients whose agents run. Dropping them ends these, all at the same time, where nothing else refers to them.
pub struct OpenClients(Vec<Arc<HostClient>>);

impl OpenClients {
    /// The clients, in the order of the user.
    pub fn all(&self) -> &[Arc<HostClient>] {
        &self.0
    }

    /// The context of a load that they make.
    pub fn context(&self, context: &RunContext) -> RunContext {
        load_client::context_of(&self.0, context)
    }
}

impl Drop for OpenClients {
    fn drop(&mut self) {
        end_all(self.0.drain(..));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clients(text: &str) -> NamedClients {
        let hosts = Hosts::parse("hosts.toml", text).expect("a good file").0;
        NamedClients { hosts, builds: Vec::new() }
    }

    #[test]
    fn a_server_has_one_address_for_all_clients() {
        let two =
            clients("[host.a]\naddress = \"10.1.0.1\"\n[host.b]\nssh = \"b\"\naddress = \"10.1.0.2\"\n");
        let of = |clients: &NamedClients, addresses: &[&str]| {
            let addresses: Vec<SocketAddr> =
                addresses.iter().map(|address| address.parse().expect("an address")).collect();
            clients.common_address(&addresses).map(|to| to.to_string()).map_err(|error| error.to_string())
        };
        assert_eq!(of(&two, &["[fd00::5]:80", "10.1.0.5:80"]), Ok("10.1.0.5:80".to_owned()));
        let family = of(&two, &["[fd00::5]:80"]).expect_err("no IPv4");
        assert!(
            family.starts_with("client a has the address 10.1.0.1, from which it cannot reach fd00::5"),
            "{family}"
        );
        let loopback = of(&two, &["127.0.0.1:80"]).expect_err("each has its own");
        assert!(
            loopback.starts_with("127.0.0.1 is another machine on each client, such as a:"),
            "{loopback}"
        );
        let here = clients("[host.a]\naddress = \"127.0.0.1\"\n[host.b]\naddress = \"127.0.0.2\"\n");
        assert_eq!(of(&here, &["127.0.0.1:80"]), Ok("127.0.0.1:80".to_owned()));
    }
}
