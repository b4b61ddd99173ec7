//! What the processes of candidate and control did in the seconds before a breach: their CPU time, and what their threads waited for.
//!
//! Both are watched all the time, because a breach cannot be told before. It costs at most 4 % of a CPU, and no thread of the run waits for
//! it: the rollback is done by then. A cause is not proved by it; `showdown explain` does experiments.

use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use profile::{ProcessSet, ThreadSampler, ThreadSamplerOptions, ThreadStates};
use serde::{Deserialize, Serialize};

use super::programs::processes_at;
use crate::live::Joining;
use crate::name::Name;

/// Two samplers watch a server in turns of this length, half a turn apart: the older one has the last half turn at least.
const TURN: Duration = Duration::from_secs(10);

/// What a sampler may use of a CPU. There are four for two servers.
const MOST_CPU: f64 = 0.01;

/// Waits of a thread that are told, and the least share of its time.
const MOST_WAITS: usize = 3;
const LEAST_WAIT: f64 = 0.02;

/// Threads by name that are told: those with the most CPU time.
const MOST_GROUPS: usize = 5;

/// How long the result may take after the run has rolled back. A busy machine needs seconds for it.
const RESULT_LIMIT: Duration = Duration::from_secs(10);

/// What threads waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/LIVE-TRAFFIC.md has every key, and a test compares")]
pub struct WaitBefore {
    pub what: String,
    pub wait_share: f64,
}

/// All threads of one name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/LIVE-TRAFFIC.md has every key, and a test compares")]
pub struct ThreadsBefore {
    pub name: String,
    pub threads: u32,
    pub running: f64,
    pub runnable: f64,
    pub busiest_thread: f64,
    pub waits: Vec<WaitBefore>,
}

/// A server in the seconds before the breach.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/LIVE-TRAFFIC.md has every key, and a test compares")]
pub struct ServerBefore {
    pub server: String,
    pub watched_s: f64,
    pub cpus: f64,
    pub groups: Vec<ThreadsBefore>,
    pub unseen: Option<String>,
}

impl ServerBefore {
    fn unseen(server: &Name, reason: &str) -> Self {
        let (server, unseen) = (server.to_string(), Some(reason.to_owned()));
        Self { server, watched_s: 0.0, cpus: 0.0, groups: Vec::new(), unseen }
    }

    fn of(server: &Name, states: &ThreadStates) -> Self {
        let length = states.length.as_secs_f64().max(f64::MIN_POSITIVE);
        let mut cpus = 0.0;
        let mut groups = Vec::new();
        for group in &states.groups {
            cpus += group.running * group.time.as_secs_f64() / length;
            let mut waits = Vec::new();
            for wait in group.waits.iter().filter(|wait| wait.share >= LEAST_WAIT).take(MOST_WAITS) {
                waits.push(WaitBefore { what: wait.kind.name().to_owned(), wait_share: wait.share });
            }
            groups.push(ThreadsBefore {
                name: group.name.clone(),
                threads: group.threads,
                running: group.running,
                runnable: group.runnable,
                busiest_thread: group.busiest_thread,
                waits,
            });
        }
        groups.truncate(MOST_GROUPS);
        Self { server: server.to_string(), watched_s: length, cpus, groups, unseen: None }
    }

    /// In a sentence.
    pub fn in_words(&self) -> String {
        let server = &self.server;
        if let Some(reason) = &self.unseen {
            return format!("{server} was not watched: {reason}");
        }
        let mut text = format!("{server} used {:.2} CPUs in the {:.0} s before", self.cpus, self.watched_s);
        if let Some(first) = self.groups.first() {
            let _ = write!(
                text,
                "; {} × {}: {} on a CPU (the busiest {}), {} waiting for one",
                first.threads,
                archive::printable::one_line(&first.name),
                percent(first.running),
                percent(first.busiest_thread),
                percent(first.runnable)
            );
            for wait in &first.waits {
                let _ = write!(text, ", {} {}", percent(wait.wait_share), wait.what);
            }
        }
        text
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// A server that is watched, or why it is not.
struct WatchedServer {
    name: Name,
    processes: Result<ProcessSet, String>,
    /// The older one first, each with its start.
    samplers: Vec<(Instant, ThreadSampler)>,
}

impl WatchedServer {
    fn new(name: Name, address: SocketAddr) -> Self {
        let processes = processes_at(address).map(ProcessSet::Roots);
        Self { name, processes, samplers: Vec::new() }
    }

    /// Ends a sampler whose turn is over, and begins another half a turn after the last one.
    fn take_turns(&mut self) {
        let Ok(processes) = &self.processes else { return };
        if self.samplers.first().is_some_and(|(began, _)| began.elapsed() >= TURN) {
            self.samplers.remove(0);
        }
        if self.samplers.last().is_some_and(|(began, _)| began.elapsed() < TURN / 2) {
            return;
        }
        let options = ThreadSamplerOptions { most_cpu: MOST_CPU, ..ThreadSamplerOptions::default() };
        match ThreadSampler::start(processes.clone(), &options) {
            Ok(sampler) => self.samplers.push((Instant::now(), sampler)),
            // The older one has what is known of a server that has ended.
            Err(_) if !self.samplers.is_empty() => {}
            Err(error) => self.processes = Err(error.to_string()),
        }
    }

    fn result(mut self) -> ServerBefore {
        if let Err(reason) = &self.processes {
            return ServerBefore::unseen(&self.name, reason);
        }
        if self.samplers.is_empty() {
            return ServerBefore::unseen(&self.name, "the run has ended at its start");
        }
        match self.samplers.remove(0).1.stop() {
            Ok(states) => ServerBefore::of(&self.name, &states),
            Err(error) => ServerBefore::unseen(&self.name, &error.to_string()),
        }
    }
}

/// Watches servers until it is told to stop. None if nobody asks for the result any more.
fn watch_until(servers: Vec<(Name, SocketAddr)>, stopped: &Receiver<()>) -> Option<Vec<ServerBefore>> {
    let mut watched = Vec::new();
    for (name, address) in servers {
        watched.push(WatchedServer::new(name, address));
    }
    loop {
        for server in &mut watched {
            server.take_turns();
        }
        match stopped.recv_timeout(TURN / 20) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) => return Some(watched.into_iter().map(WatchedServer::result).collect()),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

/// Watches the servers of a run on a thread of its own.
#[derive(Debug)]
pub struct BeforeBreach {
    /// None once the result was asked for.
    stop: Option<Sender<()>>,
    result: Receiver<Vec<ServerBefore>>,
}

impl BeforeBreach {
    /// Begins to watch the servers that join, where they are on this machine.
    pub fn watch(joining: &[Joining]) -> Self {
        let (stop, stopped) = channel::<()>();
        let (sender, result) = channel();
        let servers: Vec<(Name, SocketAddr)> =
            joining.iter().map(|server| (server.name.clone(), server.address)).collect();
        // Without a thread there is no result, and the run goes on.
        let started = thread::Builder::new().name("sd-before".to_owned()).spawn(move || {
            if let Some(watched) = watch_until(servers, &stopped) {
                let _ = sender.send(watched);
            }
        });
        Self { stop: started.is_ok().then_some(stop), result }
    }

    /// Ends to watch, and does not wait for the result.
    pub fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    /// What was seen until it was told to stop. Empty if nothing was.
    pub fn result(mut self) -> Vec<ServerBefore> {
        self.stop();
        self.result.recv_timeout(RESULT_LIMIT).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::lease::Probe;

    fn joining(address: SocketAddr) -> Joining {
        let (probe, name) = (Probe::Connect, "candidate".parse().unwrap());
        Joining { name, address, probe, sends_proxy_header: false, most_connections: None }
    }

    #[test]
    fn a_server_of_this_machine_is_watched_and_one_of_another_machine_is_named() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut before = BeforeBreach::watch(&[
            joining(listener.local_addr().unwrap()),
            joining("192.0.2.1:80".parse().unwrap()),
        ]);
        thread::sleep(Duration::from_millis(500));
        before.stop();
        let [here, elsewhere] = before.result().try_into().unwrap();
        assert!(here.unseen.is_none() && !here.groups.is_empty(), "{here:?}");
        assert!(here.in_words().starts_with("candidate used "), "{}", here.in_words());
        let words = elsewhere.in_words();
        assert!(words.contains("listens at 192.0.2.1:80 on this machine"), "{words}");
    }
}
