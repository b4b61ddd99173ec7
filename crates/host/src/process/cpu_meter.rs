//! The CPU time of a server, read before and after each slice of a load. Which processes belong to the server is left to
//! [`ProcessTree`].

use std::sync::{Mutex, PoisonError};

use procfs::process::Stat;
use procfs::{Current, LoadAverage};

use super::list::{cpu_clock, read_stat};
use super::{CpuUsed, ProcessTree, Processes};

/// How often the CPU time of a server is read until no process ends meanwhile.
const MOST_READINGS: u32 = 3;

/// Reads the CPU time of a server.
///
/// It lists all processes of the machine only where a process or thread has begun since the last reading: on a machine of a
/// thousand processes, the list takes longer than a slice.
#[derive(Debug)]
pub struct CpuUsedMeter {
    tree: ProcessTree,
    listed: Mutex<Option<Listed>>,
}

/// The processes of the server as they were listed.
#[derive(Debug)]
struct Listed {
    /// The newest process or thread of the machine just before (field 5 of `proc_loadavg(5)`).
    newest: u32,
    /// The server's processes, with the supervisor.
    pids: Vec<u32>,
}

impl CpuUsedMeter {
    /// A meter of this server.
    pub fn new(tree: ProcessTree) -> Self {
        Self { tree, listed: Mutex::new(None) }
    }

    /// The server.
    pub fn tree(&self) -> &ProcessTree {
        &self.tree
    }

    /// The CPU time that the server has used since it started, with the processes that have ended. Of those that run it is
    /// exact to the microsecond; of the others it is what the kernel added to their parents, in clock ticks. A process whose
    /// parent ignores its end (`SA_NOCLDWAIT`) is in no parent, and is lost.
    pub fn used(&self) -> CpuUsed {
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        // The time of a process that ends between the two readings of it is in neither sum, and in those of the next reading.
        let mut reading = self.read(&mut listed);
        for _ in 1..MOST_READINGS {
            if reading.is_consistent {
                break;
            }
            *listed = None;
            reading = self.read(&mut listed);
        }
        reading.used
    }

    fn read(&self, listed: &mut Option<Listed>) -> CpuReading {
        let newest = LoadAverage::current().map(|load| load.latest_pid).ok();
        let is_current = |listed: &&Listed| Some(listed.newest) == newest;
        let Some(listed) = listed.as_ref().filter(is_current) else {
            let all = Processes::now();
            let stats = self.tree.among(&all);
            let pids = stats.iter().map(|stat| stat.pid.cast_unsigned()).collect();
            *listed = newest.map(|newest| Listed { newest, pids });
            return self.sum(stats.into_iter().map(Some));
        };
        let stats: Vec<Option<Stat>> = listed.pids.iter().map(|pid| read_stat(*pid)).collect();
        self.sum(stats.iter().map(Option::as_ref))
    }

    /// Sums the processes up; one that is not there any more makes the reading inconsistent.
    fn sum<'s>(&self, stats: impl Iterator<Item = Option<&'s Stat>>) -> CpuReading {
        let mut reading = CpuReading { used: CpuUsed::default(), is_consistent: true };
        for stat in stats {
            match stat {
                // The supervisor is no part of the server, but it inherits the server's orphans.
                Some(stat) if stat.pid.cast_unsigned() == self.tree.supervisor => {
                    reading.used += CpuUsed::of_children(stat);
                }
                Some(stat) => match cpu_clock(stat.pid) {
                    Some(own) => reading.used += CpuUsed::of(stat, own),
                    None => reading.is_consistent = false,
                },
                None => reading.is_consistent = false,
            }
        }
        reading
    }
}

struct CpuReading {
    used: CpuUsed,
    /// Whether no process has ended meanwhile.
    is_consistent: bool,
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn processes_that_begin_or_end_after_a_reading_are_known_to_the_next_one() -> std::io::Result<()> {
        let meter = CpuUsedMeter::new(ProcessTree {
            guard: std::process::id(),
            supervisor: 0,
            external: None,
            listener: None,
        });
        meter.used();
        let mut child = Command::new("sleep").arg("60").spawn()?;
        let pid = child.id();
        let is_known = || {
            meter.used();
            let listed = meter.listed.lock().expect("no reading panicked");
            listed.as_ref().is_some_and(|listed| listed.pids.contains(&pid))
        };
        assert!(is_known() && is_known(), "also where the list is still the newest");
        child.kill()?;
        child.wait()?;
        assert!(!is_known(), "it is not there any more");
        Ok(())
    }
}
