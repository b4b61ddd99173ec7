//! Accounts for the time of threads, and sums it by their names.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use super::read::{self, SchedulerAccount, ThreadState};
use super::states::{ThreadGroup, ThreadStates, Wait, WaitKind};
use crate::thread_names::{current_name, group_name};

/// A thread that existed for less has no busiest share: it is too short to divide.
const LEAST_TIME: Duration = Duration::from_millis(200);

/// A wait without its share.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct WaitKey {
    kind: WaitKind,
    call: String,
    kernel_function: String,
    is_uninterruptible: bool,
}

#[derive(Debug)]
struct ThreadAccount {
    pid: u32,
    name: String,
    first_seen: Instant,
    last_seen: Instant,
    first: Option<SchedulerAccount>,
    last: Option<SchedulerAccount>,
    runnable_samples: u64,
    waits: HashMap<WaitKey, u64>,
    has_ended: bool,
}

impl ThreadAccount {
    fn time(&self) -> Duration {
        self.last_seen.duration_since(self.first_seen)
    }

    fn samples(&self) -> u64 {
        self.runnable_samples + self.waits.values().sum::<u64>()
    }

    /// Shares of its time on a CPU and waiting for one.
    fn shares(&self) -> (f64, f64) {
        let time = self.time().as_secs_f64();
        match (self.first, self.last) {
            (Some(first), Some(last)) if time > 0.0 => {
                let share = |later: Duration, earlier: Duration| {
                    (later.saturating_sub(earlier).as_secs_f64() / time).clamp(0.0, 1.0)
                };
                let running = share(last.running, first.running);
                (running, share(last.runnable, first.runnable).min(1.0 - running))
            }
            // Without accounts nobody can tell running from runnable threads.
            _ => (self.runnable_samples as f64 / self.samples().max(1) as f64, 0.0),
        }
    }
}

/// The time of the threads of some processes.
#[derive(Debug, Default)]
pub(super) struct Account {
    threads: BTreeMap<u32, ThreadAccount>,
    /// Threads whose ID was used again.
    ended: Vec<ThreadAccount>,
    /// The thread at which the next round goes on.
    next: u32,
    most_at_a_time: HashMap<String, u32>,
}

impl Account {
    pub(super) fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// Finds new threads, and reads the scheduler's accounts.
    pub(super) fn list(&mut self, pids: &[u32]) {
        let now = Instant::now();
        let mut at_a_time: HashMap<&str, u32> = HashMap::new();
        for thread in self.threads.values_mut() {
            thread.has_ended = true;
        }
        for (pid, tid) in read::threads_of_all(pids) {
            let account = read::scheduler_account(pid, tid);
            let known = self.threads.get_mut(&tid).filter(|thread| thread.pid == pid);
            if let Some(thread) = known {
                thread.has_ended = false;
                thread.last_seen = now;
                thread.last = account.or(thread.last);
            } else if let Some(name) = current_name(pid, tid) {
                let thread = ThreadAccount {
                    pid,
                    name: group_name(&name),
                    first_seen: now,
                    last_seen: now,
                    first: account,
                    last: account,
                    runnable_samples: 0,
                    waits: HashMap::new(),
                    has_ended: false,
                };
                self.ended.extend(self.threads.insert(tid, thread));
            }
        }
        for thread in self.threads.values().filter(|thread| !thread.has_ended) {
            *at_a_time.entry(&thread.name).or_default() += 1;
        }
        for (name, threads) in at_a_time {
            let most = self.most_at_a_time.entry(name.to_owned()).or_default();
            *most = threads.max(*most);
        }
    }

    /// Takes a sample of at most this many threads, and returns of how many.
    pub(super) fn round(&mut self, most: usize) -> usize {
        let from_next = self.threads.range(self.next..).chain(self.threads.range(..self.next));
        let running = from_next.filter(|(_, thread)| !thread.has_ended);
        let chosen: Vec<u32> = running.map(|(tid, _)| *tid).take(most).collect();
        if let Some(last) = chosen.last() {
            self.next = last.wrapping_add(1);
        }
        for tid in &chosen {
            let Some(thread) = self.threads.get_mut(tid) else { continue };
            match read::state(thread.pid, *tid) {
                Some(ThreadState::Runnable) => thread.runnable_samples += 1,
                Some(ThreadState::Waits { call, kernel_function, is_uninterruptible }) => {
                    let target = |descriptor| read::descriptor_target(thread.pid, descriptor);
                    let kind = call.map_or(WaitKind::Unknown, |call| call.kind(is_uninterruptible, target));
                    let call = call.map(super::waits::Call::name).unwrap_or_default();
                    let key = WaitKey { kind, call, kernel_function, is_uninterruptible };
                    *thread.waits.entry(key).or_default() += 1;
                }
                None => thread.has_ended = true,
            }
        }
        chosen.len()
    }

    /// The states by name.
    pub(super) fn finish(self, length: Duration, rounds: u64, cost: Duration) -> ThreadStates {
        let mut by_name: BTreeMap<String, Vec<ThreadAccount>> = BTreeMap::new();
        for thread in self.threads.into_values().chain(self.ended) {
            by_name.entry(thread.name.clone()).or_default().push(thread);
        }
        let has_schedstat = by_name.values().flatten().any(|thread| thread.first.is_some());
        let mut groups: Vec<ThreadGroup> = by_name
            .into_iter()
            .map(|(name, threads)| {
                let most = self.most_at_a_time.get(&name).copied().unwrap_or_default();
                group(name, &threads, most)
            })
            .collect();
        groups.sort_by(|a, b| {
            let cpu = |group: &ThreadGroup| group.running * group.time.as_secs_f64();
            cpu(b).total_cmp(&cpu(a))
        });
        ThreadStates { length, groups, rounds, has_schedstat, cost }
    }
}

/// The sum of threads with one name.
fn group(name: String, threads: &[ThreadAccount], most_at_a_time: u32) -> ThreadGroup {
    let total: Duration = threads.iter().map(ThreadAccount::time).sum();
    // Threads without a duration have samples only, and count alike.
    let weight = |thread: &ThreadAccount| match total.as_secs_f64() {
        0.0 => 1.0 / threads.len() as f64,
        total => thread.time().as_secs_f64() / total,
    };
    let (mut running, mut runnable, mut busiest) = (0.0, 0.0, 0.0_f64);
    let mut waits: HashMap<WaitKey, f64> = HashMap::new();
    for thread in threads {
        let (on_cpu, for_cpu) = thread.shares();
        running += weight(thread) * on_cpu;
        runnable += weight(thread) * for_cpu;
        if thread.time() >= LEAST_TIME {
            busiest = busiest.max(on_cpu);
        }
        let waiting = weight(thread) * (1.0 - on_cpu - for_cpu).max(0.0);
        let samples: u64 = thread.waits.values().sum();
        for (key, count) in &thread.waits {
            *waits.entry(key.clone()).or_default() += waiting * *count as f64 / samples as f64;
        }
        if samples == 0 && waiting > 0.0 {
            let key = WaitKey {
                kind: WaitKind::Unknown,
                call: String::new(),
                kernel_function: String::new(),
                is_uninterruptible: false,
            };
            *waits.entry(key).or_default() += waiting;
        }
    }
    let mut waits: Vec<Wait> = waits
        .into_iter()
        .map(|(key, share)| Wait {
            kind: key.kind,
            call: key.call,
            kernel_function: key.kernel_function,
            is_uninterruptible: key.is_uninterruptible,
            share,
        })
        .collect();
    waits.sort_by(|a, b| {
        let text = |wait: &Wait| (wait.call.clone(), wait.kernel_function.clone());
        b.share.total_cmp(&a.share).then_with(|| text(a).cmp(&text(b)))
    });
    ThreadGroup {
        name,
        threads: most_at_a_time,
        samples: threads.iter().map(ThreadAccount::samples).sum(),
        time: total,
        running,
        runnable,
        waits,
        busiest_thread: busiest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn thread(time_ms: u64, running_ms: u64, runnable_ms: u64, futex: u64, sleep: u64) -> ThreadAccount {
        let first_seen = Instant::now();
        let key = |kind, call: &str| WaitKey {
            kind,
            call: call.to_owned(),
            kernel_function: String::new(),
            is_uninterruptible: false,
        };
        let mut waits = HashMap::new();
        waits.insert(key(WaitKind::Futex, "futex"), futex);
        waits.insert(key(WaitKind::Sleep, "nanosleep"), sleep);
        waits.retain(|_, count| *count > 0);
        let ms = Duration::from_millis;
        ThreadAccount {
            pid: 1,
            name: "t".to_owned(),
            first_seen,
            last_seen: first_seen + ms(time_ms),
            first: Some(SchedulerAccount::default()),
            last: Some(SchedulerAccount { running: ms(running_ms), runnable: ms(runnable_ms) }),
            runnable_samples: 3,
            waits,
            has_ended: false,
        }
    }

    #[test]
    fn samples_divide_what_the_scheduler_does_not_account_for() {
        let group = group("t".to_owned(), &[thread(1000, 300, 100, 30, 10)], 1);
        assert!((group.running - 0.3).abs() < 1e-9 && (group.runnable - 0.1).abs() < 1e-9);
        assert_eq!(group.waits[0].kind, WaitKind::Futex);
        assert!((group.waits[0].share - 0.45).abs() < 1e-9);
        assert!((group.busiest_thread - 0.3).abs() < 1e-9);
    }

    #[test]
    fn a_thread_counts_by_the_time_that_it_existed() {
        let group = group("t".to_owned(), &[thread(3000, 3000, 0, 0, 0), thread(1000, 0, 0, 5, 0)], 2);
        assert!((group.running - 0.75).abs() < 1e-9);
        assert!((group.waits[0].share - 0.25).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn shares_sum_to_one(
            threads in prop::collection::vec((0..5000_u64, 0..5000_u64, 0..5000_u64, 0..9_u64, 0..9_u64), 1..9),
        ) {
            let threads: Vec<ThreadAccount> =
                threads.into_iter().map(|(time, on, for_cpu, futex, sleep)| thread(time, on, for_cpu, futex, sleep)).collect();
            let group = group("t".to_owned(), &threads, 1);
            let sum = group.running + group.runnable + group.waits.iter().map(|wait| wait.share).sum::<f64>();
            prop_assert!((sum - 1.0).abs() < 1e-9, "{sum} of {group:?}");
        }
    }
}
