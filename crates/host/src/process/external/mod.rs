//! The processes of a server that another program has started for it, such as a container's daemon or a service manager. They are no
//! descendants of the server's supervisor: its listening socket leads to them, or the workload names one of them.

mod group;
pub(super) mod listeners;

use std::collections::HashSet;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use procfs::process::Stat;
use rustix::io::Errno;
use rustix::process::Pid;

use self::group::{members_of, own_group};
use self::listeners::{holds_one_of, listening_sockets};
use super::list::{ProcessId, Processes, has_not_ended};
use crate::affinity::CpuSet;
use crate::root::Root;

/// The names of the processes that belong to the supervisor of a server, see [`crate::supervisor_main`].
const SUPERVISORS: [&str; 2] = ["sd-guard", "sd-keeper"];

/// Programs that listen at a published port of a container and pass everything on: the server is another process.
const FORWARDERS: [&str; 7] =
    ["docker-proxy", "rootlessport", "rootlesskit", "slirp4netns", "pasta", "conmon", "systemd-socket-p"];

/// Why the processes of a server that another program has started are not known.
#[derive(Debug, thiserror::Error)]
pub enum ExternalError {
    /// A process that ran before the start has the port.
    #[error(
        "{command} (pid {pid}) listens on {address}, and ran before the start: let the server listen on a port of its own \
         (no socket activation), or name its process with the key pid"
    )]
    Earlier {
        /// Where it listens.
        address: SocketAddr,
        /// The process.
        pid: u32,
        /// Its name.
        command: String,
    },
    /// A program that only passes connections on has the port.
    #[error(
        "{command} (pid {pid}) listens on {address} and only passes connections on: let the container use the network of the \
         machine (--network host), or name the server's process with the key pid"
    )]
    Forwarder {
        /// Where it listens.
        address: SocketAddr,
        /// The process.
        pid: u32,
        /// Its name.
        command: String,
    },
    /// Somebody listens, but this user may not look at that process.
    #[error(
        "the process that listens on {0} is not one that this user may look at: name it with the key pid, run showdown as that user, or as \
         root"
    )]
    Unseen(SocketAddr),
    /// The start has ended, and nothing of this machine listens.
    #[error(
        "the command of start has ended, and no process of this machine's network listens on {0}: name the server's process with \
         the key pid"
    )]
    Nobody(SocketAddr),
    /// The process that the workload names does not run.
    #[error("pid: there is no process {0}: check what the file or the command says once the server is ready")]
    NoProcess(u32),
    /// The process that the workload names is older than the start.
    #[error(
        "pid: process {pid} ({command}) ran before the start, so it is not of this start: check what the file or the command says"
    )]
    NotOfThisStart {
        /// The process.
        pid: u32,
        /// Its name.
        command: String,
    },
    /// It runs on other CPUs than the server may use.
    #[error(
        "{command} (pid {pid}) cannot be kept on CPUs {cpus}: {source}: start it on them (--cpuset-cpus {{{{ cpu_list }}}}, \
         AllowedCPUs=, taskset), or run showdown as root"
    )]
    NotPinned {
        /// The process.
        pid: u32,
        /// Its name.
        command: String,
        /// The CPUs of the server.
        cpus: CpuSet,
        /// The system's error.
        source: std::io::Error,
    },
}

/// Processes of a server that are no descendants of its supervisor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct External {
    /// The processes that were found, without those below another one; oldest first.
    roots: Vec<ProcessId>,
    /// When the server's guard or supervisor started, in clock ticks since boot. What is older does not belong to the server.
    since: u64,
    /// The control group in which there is nothing else.
    group: Option<PathBuf>,
}

/// Who listens where a server should.
#[derive(Debug)]
pub(crate) enum Listener {
    /// Nobody, or the kernel does not say.
    Nobody,
    /// Descendants of the server's guard or supervisor: the oldest, if this user may look.
    Descendant(Option<ProcessId>),
    /// Processes that another program has started since.
    External(External),
    /// A process that ran before.
    Earlier {
        /// Its ID.
        pid: u32,
        /// Its name.
        command: String,
    },
    /// A process that this user may not look at.
    Unseen,
}

impl Listener {
    /// Who listens at this address, seen from the server with this guard or supervisor.
    pub fn at(root: &Root, address: SocketAddr, supervisor: u32) -> Self {
        let Some(since) = ProcessId::of(supervisor).map(|supervisor| supervisor.start_ticks) else {
            return Self::Nobody;
        };
        let sockets = listening_sockets(address);
        if sockets.is_empty() {
            return Self::Nobody;
        }
        let processes = Processes::now();
        let (own, others) = processes.partition(supervisor);
        let own: Vec<(&Stat, Option<bool>)> =
            own.into_iter().map(|stat| (stat, holds_one_of(stat.pid, &sockets))).collect();
        let descendants = own.iter().filter(|(_, holds)| *holds == Some(true));
        if let Some((oldest, _)) = descendants.min_by_key(|(stat, _)| (stat.starttime, stat.pid)) {
            return Self::Descendant(Some(ProcessId::from(*oldest)));
        }
        let holders: Vec<&Stat> =
            others.into_iter().filter(|stat| holds_one_of(stat.pid, &sockets) == Some(true)).collect();
        let of_this_start: Vec<&Stat> = holders
            .iter()
            .copied()
            .filter(|stat| stat.starttime >= since && !is_kept(stat, &processes))
            .collect();
        match (of_this_start.is_empty(), holders.first()) {
            (false, _) => Self::External(External::of(root, &of_this_start, since, &processes)),
            (true, Some(holder)) => {
                Self::Earlier { pid: holder.pid.cast_unsigned(), command: holder.comm.clone() }
            }
            // A process of the server that changed its user may be closed to this one.
            (true, None) if own.iter().any(|(_, holds)| holds.is_none()) => Self::Descendant(None),
            (true, None) => Self::Unseen,
        }
    }
}

/// Whether a process belongs to a server that some supervisor has started.
fn is_kept(stat: &Stat, processes: &Processes) -> bool {
    processes.ancestors(stat).any(|above| SUPERVISORS.contains(&above.comm.as_str()))
}

impl External {
    fn of(root: &Root, found: &[&Stat], since: u64, processes: &Processes) -> Self {
        let pids: HashSet<i32> = found.iter().map(|stat| stat.pid).collect();
        let is_below = |stat: &Stat| processes.ancestors(stat).any(|above| pids.contains(&above.pid));
        let mut roots: Vec<ProcessId> =
            found.iter().filter(|stat| !is_below(stat)).map(|stat| ProcessId::from(*stat)).collect();
        roots.sort_by_key(|root| (root.start_ticks, root.pid));
        let group = roots.first().and_then(|first| own_group(root, first.pid, since, processes));
        Self { roots, since, group }
    }

    /// The server of which the workload names a process.
    pub fn named(root: &Root, pid: u32, guard: u32) -> Result<Self, ExternalError> {
        let processes = Processes::now();
        let stat = processes.get(pid).filter(|stat| has_not_ended(stat));
        let stat = stat.ok_or(ExternalError::NoProcess(pid))?;
        match ProcessId::of(guard).map(|guard| guard.start_ticks) {
            Some(since) if stat.starttime >= since && !is_kept(stat, &processes) => {
                Ok(Self::of(root, &[stat], since, &processes))
            }
            _ => Err(ExternalError::NotOfThisStart { pid, command: stat.comm.clone() }),
        }
    }

    /// An error if a listener is no server.
    pub fn check_no_forwarder(&self, address: SocketAddr) -> Result<(), ExternalError> {
        let Some(pid) = self.leader() else { return Ok(()) };
        let processes = Processes::now();
        let command = processes.get(pid.pid).map_or(String::new(), |stat| stat.comm.clone());
        if FORWARDERS.iter().any(|name| command.starts_with(name)) {
            return Err(ExternalError::Forwarder { address, pid: pid.pid, command });
        }
        Ok(())
    }

    /// The oldest of the processes that were found.
    pub fn leader(&self) -> Option<ProcessId> {
        self.roots.first().copied()
    }

    /// Whether one of the processes that were found still runs.
    pub fn is_alive(&self) -> bool {
        self.roots.iter().any(|root| root.is_alive())
    }

    /// Its processes in a list, with zombies: those that were found, their descendants, and all of its own control group.
    pub fn among<'p>(&self, processes: &'p Processes) -> Vec<&'p Stat> {
        let is_root = |stat: &&Stat| self.roots.contains(&ProcessId::from(*stat));
        let mut pids: HashSet<i32> = HashSet::new();
        for root in processes.iter().filter(is_root) {
            pids.insert(root.pid);
            pids.extend(processes.below(root.pid.cast_unsigned()).iter().map(|stat| stat.pid));
        }
        pids.extend(self.group.iter().flat_map(|group| members_of(group)));
        processes.iter().filter(|stat| pids.contains(&stat.pid) && stat.starttime >= self.since).collect()
    }

    /// Its running processes now.
    pub fn processes(&self) -> Vec<ProcessId> {
        let all = Processes::now();
        self.among(&all).into_iter().filter(|stat| has_not_ended(stat)).map(ProcessId::from).collect()
    }

    /// Keeps all its threads on these CPUs. Threads and processes that they start later inherit that.
    pub fn pin(&self, cpus: &CpuSet) -> Result<(), ExternalError> {
        let all = Processes::now();
        for stat in self.among(&all).into_iter().filter(|stat| has_not_ended(stat)) {
            pin_process(stat.pid, cpus).map_err(|error| ExternalError::NotPinned {
                pid: stat.pid.cast_unsigned(),
                command: stat.comm.clone(),
                cpus: cpus.clone(),
                source: error.into(),
            })?;
        }
        Ok(())
    }
}

/// Pins the threads of a process. Those that are on these CPUs already, and those that end meanwhile, are no error.
fn pin_process(pid: i32, cpus: &CpuSet) -> Result<(), Errno> {
    for entry in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        let thread = entry.file_name().to_str().and_then(|name| Pid::from_raw(name.parse().ok()?));
        let Some(thread) = thread else { continue };
        match cpus.pin_thread(thread) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(_) if CpuSet::of_thread(thread).is_ok_and(|on| on.intersection(cpus) == on) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_listener_that_ran_before_the_guard_is_not_of_the_server() -> std::io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        // The kernel has start times in ticks of 10 ms: this process is older by some.
        std::thread::sleep(std::time::Duration::from_millis(50));
        let mut guard = std::process::Command::new("sleep").arg("60").spawn()?;
        let root = Root::new("/");
        let earlier = Listener::at(&root, listener.local_addr()?, guard.id());
        let own = Listener::at(&root, listener.local_addr()?, std::process::id());
        let named = External::named(&root, std::process::id(), guard.id());
        guard.kill()?;
        guard.wait()?;
        assert!(matches!(earlier, Listener::Earlier { pid, .. } if pid == std::process::id()));
        assert!(matches!(own, Listener::Descendant(Some(_))), "{own:?}");
        let error = named.expect_err("this process is older").to_string();
        assert!(error.contains("ran before the start"), "{error}");
        let nobody = std::process::id();
        drop(listener);
        assert!(matches!(
            Listener::at(&root, "127.0.0.1:9".parse().expect("an address"), nobody),
            Listener::Nobody
        ));
        Ok(())
    }

    #[test]
    fn a_process_that_does_not_run_cannot_be_named() {
        let error =
            External::named(&Root::new("/"), u32::MAX, std::process::id()).expect_err("no such process");
        assert!(error.to_string().starts_with("pid: there is no process 4294967295"), "{error}");
    }
}
