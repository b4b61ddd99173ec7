//! The other programs that used CPU time during a recording.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use procfs::process::{Stat, StatFlags};
use serde::{Deserialize, Serialize};

use crate::process::{ProcessId, Processes};

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

/// What a process had used when it was listed last, in clock ticks.
#[derive(Debug, Clone, Copy)]
struct Known {
    is_ours: bool,
    own: u64,
    children: u64,
}

/// Clock ticks of the programs of the run, and of all others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sides {
    pub(super) ours: u64,
    pub(super) others: u64,
}

impl Sides {
    fn add(&mut self, is_ours: bool, ticks: u64) {
        *(if is_ours { &mut self.ours } else { &mut self.others }) += ticks;
    }

    fn without(self, less: Self) -> Self {
        Self { ours: self.ours.saturating_sub(less.ours), others: self.others.saturating_sub(less.others) }
    }

    fn sum(self) -> u64 {
        self.ours + self.others
    }
}

/// The CPU time of programs, from one list of processes to the next.
///
/// When a process has ended, the kernel adds the time of its whole life to the parent that waited for it. Most of this was counted when
/// the process was listed. A sum over all processes does not do: they are listed one after the other, so a process that ends meanwhile
/// may be in neither its own time nor its parent's. The sum then falls, and rises at the next list by a whole life. So each process is
/// followed by itself, and of what parents get, only that of ended children counts that no list had.
#[derive(Debug, Default)]
pub(super) struct ProgramTimes {
    known: HashMap<ProcessId, Known>,
    /// What ended processes had used that no parent had got when the last list was read. It gets it before the next one, or never,
    /// because it ignores its children.
    owed: Sides,
    used: Sides,
    /// What each of the other programs has used that are still listed, with their names.
    programs: HashMap<ProcessId, (String, u64)>,
}

impl ProgramTimes {
    /// From the processes that are there now: what they have used is no part of it.
    pub(super) fn since(processes: &Processes, own: u32, servers: &HashSet<i32>) -> Self {
        let mut times = Self::default();
        times.advance(processes, own, servers);
        Self { used: Sides::default(), owed: Sides::default(), programs: HashMap::new(), ..times }
    }

    /// Reads the next list. Returns what has been used since the first one.
    pub(super) fn advance(&mut self, processes: &Processes, own: u32, servers: &HashSet<i32>) -> Sides {
        let (ours, others) = processes.partition_with(own, servers);
        let others = others.into_iter().filter(|stat| is_program(stat));
        let listed = ours.into_iter().map(|stat| (true, stat)).chain(others.map(|stat| (false, stat)));
        let mut now = HashMap::new();
        let mut programs = HashMap::new();
        let mut got: Vec<(ProcessId, bool, u64)> = Vec::new();
        let mut all_got = Sides::default();
        for (is_ours, stat) in listed {
            let id = ProcessId::from(stat);
            let known = Known { is_ours, own: stat.utime + stat.stime, children: children_ticks(stat) };
            // A process that is not known has begun since the last list.
            let before = self.known.remove(&id).unwrap_or(Known { is_ours, own: 0, children: 0 });
            let own_ticks = known.own.saturating_sub(before.own);
            self.used.add(is_ours, own_ticks);
            let from_children = known.children.saturating_sub(before.children);
            if from_children > 0 {
                got.push((id, is_ours, from_children));
                all_got.add(is_ours, from_children);
            }
            if !is_ours {
                let earlier = self.programs.remove(&id).map_or(0, |(_, ticks)| ticks);
                programs.insert(id, (stat.comm.clone(), earlier + own_ticks));
            }
            now.insert(id, known);
        }
        let mut counted = self.owed;
        let mut ended = Sides::default();
        for known in self.known.values() {
            ended.add(known.is_ours, known.own + known.children);
        }
        counted.ours += ended.ours;
        counted.others += ended.others;
        // A server that another program has started is ours, and its parent is not.
        let of_other_side = counted.without(all_got).sum();
        let fresh = all_got.without(counted);
        let fresh = fresh.without(Sides { ours: of_other_side, others: of_other_side });
        self.used.ours += fresh.ours;
        self.used.others += fresh.others;
        for (id, is_ours, ticks) in got {
            if !is_ours && let Some((_, used)) = programs.get_mut(&id) {
                // Which of several parents got what was counted before is not known: each has its part of the rest.
                *used += (fresh.others as f64 * ticks as f64 / all_got.others as f64).round() as u64;
            }
        }
        let is_all_got = all_got.sum() >= counted.sum();
        self.owed = if is_all_got { Sides::default() } else { ended.without(all_got.without(self.owed)) };
        (self.known, self.programs) = (now, programs);
        self.used
    }

    /// The busiest other programs that still run, busiest first.
    pub(super) fn busiest(&self) -> Vec<OtherProgram> {
        let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
        let used = self.programs.iter().filter(|(_, (_, ticks))| *ticks > 0);
        let mut busiest: Vec<OtherProgram> = used
            .map(|(id, (command, ticks))| OtherProgram {
                command: command.clone(),
                pid: id.pid,
                cpu: Duration::from_secs_f64(*ticks as f64 / ticks_per_second),
            })
            .collect();
        busiest.sort_by_key(|other| (std::cmp::Reverse(other.cpu), other.pid));
        busiest.truncate(MOST);
        busiest
    }
}

/// What the ended children of a process have used that it has waited for.
fn children_ticks(stat: &Stat) -> u64 {
    stat.cutime.max(0).cast_unsigned() + stat.cstime.max(0).cast_unsigned()
}

/// Whether this is a program and not a kernel thread.
fn is_program(stat: &Stat) -> bool {
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
        let servers = HashSet::from([55]);
        let mut times = ProgramTimes::since(&Processes::of(before), 100, &servers);
        times.advance(&Processes::of(after), 100, &servers);
        times.busiest().into_iter().map(|other| (other.command, ticks(other.cpu) as u64)).collect()
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

    /// What the other programs used, and what those of the run did, from each list to the next, in clock ticks.
    fn used(lists: Vec<Vec<Stat>>) -> Vec<(u64, u64)> {
        let mut lists = lists.into_iter();
        let first = Processes::of(lists.next().expect("a list"));
        let servers = HashSet::from([55]);
        let mut times = ProgramTimes::since(&first, 100, &servers);
        let mut before = Sides::default();
        let each = lists.map(|list| {
            let now = times.advance(&Processes::of(list), 100, &servers);
            let since = now.without(before);
            before = now;
            (since.others, since.ours)
        });
        each.collect()
    }

    #[test]
    fn a_process_that_ends_while_the_list_is_read_is_counted_once() {
        // The parent was read before it waited for the child, and the child was gone when its turn came.
        let used = used(vec![
            vec![process(1, "bash", 0, 7, 0), process(9, "cc1", 1, 3_000, 0)],
            vec![process(1, "bash", 0, 7, 0)],
            vec![process(1, "bash", 0, 8, 3_004)],
            vec![process(1, "bash", 0, 9, 3_010)],
        ]);
        assert_eq!(used, [(0, 0), (5, 0), (7, 0)], "the last 6 ticks are of a child that no list had");
    }

    #[test]
    fn an_orphan_whose_parent_ended_with_it_is_not_the_time_of_init() {
        let used = used(vec![
            vec![process(1, "init", 0, 0, 0), process(5, "sh", 1, 10, 0), process(6, "job", 5, 9_000, 0)],
            vec![process(1, "init", 0, 0, 9_012)],
        ]);
        assert_eq!(used, [(2, 0)]);
    }

    #[test]
    fn a_server_that_another_program_waits_for_is_not_its_time() {
        let at = |shim: u64| vec![process(3, "shim", 1, 4, shim), process(100, "showdown", 1, 0, 0)];
        let mut before = at(0);
        before.push(process(55, "server", 3, 5_000, 0));
        assert_eq!(used(vec![before, at(5_003)]), [(3, 0)]);
    }

    #[test]
    fn time_that_no_parent_got_does_not_hide_that_of_later_children() {
        let used = used(vec![
            vec![process(1, "bash", 0, 0, 0), process(9, "ignored", 1, 500, 0)],
            vec![process(1, "bash", 0, 0, 0)],
            vec![process(1, "bash", 0, 0, 0)],
            vec![process(1, "bash", 0, 0, 40)],
        ]);
        assert_eq!(used, [(0, 0), (0, 0), (40, 0)]);
    }
}
