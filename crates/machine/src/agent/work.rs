//! What an agent has between requests, and its end.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use load::engine::RunContext;

use super::probe_server::ProbeServers;
use super::programs::Programs;
use super::servers::ServerHost;

/// How long an agent that ends waits for requests that are being answered: they have been interrupted.
const LAST_WORK: Duration = Duration::from_secs(5);

/// What an agent has between requests.
pub(super) struct Agent {
    /// The ports that it has opened for measurements.
    pub probes: ProbeServers,
    /// The servers that it has started.
    pub servers: ServerHost,
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
