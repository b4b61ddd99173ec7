//! The other programs that used CPU time during a recording.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use procfs::process::{Stat, StatFlags};
use serde::{Deserialize, Serialize};

use crate::process::{ProcessId, Processes, cpu_ticks};

/// The number of programs that a message names.
const MOST: usize = 3;

/// A program that is no part of the run and used CPU time during a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherProgram {
    /// Its name (`comm`), without its arguments, which may contain a password.
    pub command: String,
    /// Its process ID.
    pub pid: u32,
    /// Its CPU time during the recording, with that of the children that it waited for.
    pub cpu: Duration,
}

/// The busiest programs between two process lists, busiest first, without `own`, its descendants and the servers elsewhere.
pub(super) fn busiest(
    before: &Processes,
    after: &Processes,
    own: u32,
    servers: &HashSet<i32>,
) -> Vec<OtherProgram> {
    let (before, after) = (before.partition_with(own, servers).1, after.partition_with(own, servers).1);
    let running: HashSet<ProcessId> = after.iter().map(|stat| ProcessId::from(*stat)).collect();
    let before_by_pid: HashMap<i32, &Stat> = before.iter().map(|stat| (stat.pid, *stat)).collect();
    let mut ticks_before: HashMap<ProcessId, u64> = HashMap::new();
    for stat in &before {
        // The kernel added the CPU time of an ended process to the parent that waited for it.
        let mut holder = *stat;
        while !running.contains(&ProcessId::from(holder))
            && let Some(parent) = before_by_pid.get(&holder.ppid)
        {
            holder = parent;
        }
        *ticks_before.entry(ProcessId::from(holder)).or_default() += cpu_ticks(stat);
    }
    let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
    let used = |stat: &&Stat| {
        let before = ticks_before.get(&ProcessId::from(*stat)).copied().unwrap_or(0);
        Duration::from_secs_f64(cpu_ticks(stat).saturating_sub(before) as f64 / ticks_per_second)
    };
    let mut busiest: Vec<OtherProgram> = after
        .iter()
        .filter(|stat| is_program(stat))
        .map(|stat| OtherProgram {
            command: stat.comm.clone(),
            pid: stat.pid.cast_unsigned(),
            cpu: used(stat),
        })
        .filter(|other| !other.cpu.is_zero())
        .collect();
    busiest.sort_by_key(|other| (std::cmp::Reverse(other.cpu), other.pid));
    busiest.truncate(MOST);
    busiest
}

/// Whether this is a program and not a kernel thread.
pub(super) fn is_program(stat: &Stat) -> bool {
    stat.flags().is_ok_and(|flags| !flags.contains(StatFlags::PF_KTHREAD))
}

#[cfg(test)]
mod tests {
    use procfs::FromRead;

    use super::*;

    /// A process: its parent, its own ticks and those of the children that it waited for.
    fn process(pid: u32, comm: &str, parent: u32, own: u64, children: u64) -> Stat {
        let flags = if comm.starts_with("kworker") { 0x0020_0000 } else { 0 };
        let line = format!(
            "{pid} ({comm}) S {parent} 1 1 0 -1 {flags} 0 0 0 0 {own} 0 {children} 0 20 0 1 0 {pid} 0 0 0 0 0 0 0 0 0 0 \
             0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
        );
        Stat::from_read(line.as_bytes()).expect("a line of stat")
    }

    fn named(before: Vec<Stat>, after: Vec<Stat>) -> Vec<(String, u64)> {
        let ticks =
            |cpu: Duration| (cpu.as_secs_f64() * rustix::param::clock_ticks_per_second() as f64).round();
        let busiest = busiest(&Processes::of(before), &Processes::of(after), 100, &HashSet::from([55]));
        busiest.into_iter().map(|other| (other.command, ticks(other.cpu) as u64)).collect()
    }

    #[test]
    fn the_busiest_come_first_without_own_and_kernel_processes() {
        let at = |[sh, own, server, top, kernel]: [u64; 5]| {
            vec![
                process(1, "sh", 0, sh, 0),
                process(100, "showdown", 1, own, 0),
                process(101, "nginx", 100, server, 0),
                process(55, "container", 1, server, 0),
                process(7, "top", 1, top, 0),
                process(8, "kworker/0:1", 2, kernel, 0),
            ]
        };
        let named = named(at([5, 5, 5, 5, 5]), at([6, 500, 900, 45, 700]));
        assert_eq!(named, [("top".to_owned(), 40), ("sh".to_owned(), 1)]);
    }

    #[test]
    fn the_earlier_time_of_an_ended_process_is_subtracted_from_its_parent() {
        let before =
            vec![process(1, "make", 0, 0, 0), process(2, "sh", 1, 3, 0), process(3, "cc1", 2, 900, 0)];
        let after = vec![process(1, "make", 0, 1, 953), process(9, "cc1", 1, 20, 0)];
        assert_eq!(named(before, after), [("make".to_owned(), 51), ("cc1".to_owned(), 20)]);
    }

    #[test]
    fn a_reused_process_id_is_another_process() {
        let mut successor = process(7, "late", 1, 30, 0);
        successor.starttime += 1;
        let before = vec![process(1, "init", 0, 0, 0), process(7, "early", 1, 50, 0)];
        let after = vec![process(1, "init", 0, 0, 50), successor];
        assert_eq!(named(before, after), [("late".to_owned(), 30)]);
    }
}
