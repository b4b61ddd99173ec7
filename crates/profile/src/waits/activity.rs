//! What threads did, instant by instant: for one request of a server, by its connection and its time. How it is collected is left
//! to [`journal`](super::journal).

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::result::Waker;
use crate::stacks::Frame;
use crate::threads::WaitKind;

/// What the threads of servers did. Instants are nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    /// When watching began.
    pub from: u64,
    /// When it ended.
    pub until: u64,
    /// By the threads' ID.
    pub threads: BTreeMap<u32, ThreadActivity>,
    /// Reads and sends of each connection by the port of its client, in order of time.
    pub transfers: BTreeMap<u16, Vec<Transfer>>,
    /// Where threads wait or run.
    pub places: Vec<ActivityPlace>,
    /// Who ends waits.
    pub wakers: Vec<Waker>,
    /// Whether sends are in `transfers`: kernels before 6.3 do not report them.
    pub sees_sends: bool,
    /// Records that the kernel could not store.
    pub lost: u64,
    /// After this time watching ended by itself, because it used too much CPU time or memory.
    pub stopped_after: Option<Duration>,
    /// What a reader must know, a sentence each.
    pub notes: Vec<String>,
    /// The CPU time of the sampler itself.
    pub cost: Duration,
}

/// What a thread did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadActivity {
    /// Its name.
    pub name: String,
    /// When it was off its CPU, in order of time. It ran between two waits, as far as it was seen.
    pub waits: Vec<ThreadWait>,
    /// Begin and end of the times in which records were lost, in order of time: nobody knows what it did.
    pub unseen: Vec<(u64, u64)>,
    /// Samples of it on a CPU in order of time: the instant, and the place.
    pub samples: Vec<(u64, u32)>,
}

/// A time off the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadWait {
    /// When it left its CPU.
    pub from: u64,
    /// When it ran again.
    pub until: u64,
    /// When it was woken; from here on it waited for a CPU.
    pub woken: Option<u64>,
    /// Whether it was taken off its CPU: it waited for nothing else.
    pub is_preempted: bool,
    /// Where, as far as it is known.
    pub place: Option<u32>,
    /// Whether its own stack was not taken: the place is that of most waits of the same thread's name and length.
    pub is_likely: bool,
    /// Who ended it.
    pub waker: Option<u32>,
}

/// A place at which threads wait or run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivityPlace {
    /// For what it waits.
    pub kind: WaitKind,
    /// Whether for work: outside of any operation.
    pub is_idle: bool,
    /// Functions, outermost first.
    pub frames: Vec<Frame>,
}

/// A thread has read or sent data of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    /// When.
    pub time: u64,
    /// The thread.
    pub tid: u32,
    /// Whether it read, or sent.
    pub is_read: bool,
}

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadState {
    /// It runs.
    OnCpu,
    /// It waits for a CPU.
    Runnable,
    /// It waits for something else: place, whether that is only likely, and waker.
    Blocked(Option<u32>, bool, Option<u32>),
}

/// A time in which a thread does one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadSpan {
    /// Its begin.
    pub from: u64,
    /// Its end.
    pub until: u64,
    /// What the thread does.
    pub state: ThreadState,
}

impl Activity {
    /// Reads and sends of a connection between two instants, in order of time.
    pub fn transfers(&self, client_port: u16, from: u64, until: u64) -> &[Transfer] {
        let all = self.transfers.get(&client_port).map_or(&[][..], Vec::as_slice);
        let begin = all.partition_point(|transfer| transfer.time < from);
        let end = all.partition_point(|transfer| transfer.time <= until);
        all.get(begin..end).unwrap_or_default()
    }

    /// What a thread did between two instants, without gaps. None if records of that time were lost. A thread of which there are
    /// none at all did not leave its CPU.
    pub fn spans(&self, tid: u32, from: u64, until: u64) -> Option<Vec<ThreadSpan>> {
        match self.threads.get(&tid) {
            Some(thread) => thread.spans(from, until),
            None => (self.lost == 0).then(|| ThreadActivity::default().spans(from, until)).flatten(),
        }
    }

    /// The place of an index.
    pub fn place(&self, index: u32) -> Option<&ActivityPlace> {
        self.places.get(index as usize)
    }

    /// The waker of an index.
    pub fn waker(&self, index: u32) -> Option<&Waker> {
        self.wakers.get(index as usize)
    }
}

impl ThreadActivity {
    /// What it did between two instants, without gaps. None if records of that time were lost.
    pub fn spans(&self, from: u64, until: u64) -> Option<Vec<ThreadSpan>> {
        if self.unseen.iter().any(|(begin, end)| *begin < until && from < *end) {
            return None;
        }
        let mut spans: Vec<ThreadSpan> = Vec::new();
        let mut add = |from: u64, until: u64, state| {
            if until > from {
                spans.push(ThreadSpan { from, until, state });
            }
        };
        let mut at = from;
        let first = self.waits.partition_point(|wait| wait.until <= from);
        for wait in self.waits[first..].iter().take_while(|wait| wait.from < until) {
            add(at, wait.from, ThreadState::OnCpu);
            let (begin, end) = (wait.from.max(at), wait.until.min(until));
            let ready = if wait.is_preempted { wait.from } else { wait.woken.unwrap_or(wait.until) };
            let ready = ready.clamp(begin, end.max(begin));
            add(begin, ready, ThreadState::Blocked(wait.place, wait.is_likely, wait.waker));
            add(ready, end, ThreadState::Runnable);
            at = at.max(end);
        }
        add(at, until, ThreadState::OnCpu);
        Some(spans)
    }

    /// The places of its samples on a CPU between two instants.
    pub fn samples(&self, from: u64, until: u64) -> impl Iterator<Item = u32> {
        let begin = self.samples.partition_point(|(time, _)| *time < from);
        self.samples[begin..].iter().take_while(move |(time, _)| *time < until).map(|(_, place)| *place)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wait(from: u64, woken: Option<u64>, until: u64) -> ThreadWait {
        ThreadWait { from, until, woken, is_preempted: false, place: Some(1), is_likely: false, waker: None }
    }

    fn thread(waits: Vec<ThreadWait>) -> ThreadActivity {
        ThreadActivity { name: "worker".to_owned(), waits, ..ThreadActivity::default() }
    }

    #[test]
    fn a_thread_runs_waits_and_waits_for_a_cpu() {
        let preempted = ThreadWait { is_preempted: true, ..wait(60, None, 70) };
        let thread = thread(vec![wait(10, Some(25), 30), preempted, wait(90, None, 200)]);
        let found: Vec<_> =
            thread.spans(20, 100).expect("seen").iter().map(|s| (s.from, s.until, s.state)).collect();
        let blocked = ThreadState::Blocked(Some(1), false, None);
        assert_eq!(
            found,
            [
                (20, 25, blocked),
                (25, 30, ThreadState::Runnable),
                (30, 60, ThreadState::OnCpu),
                (60, 70, ThreadState::Runnable),
                (70, 90, ThreadState::OnCpu),
                (90, 100, blocked),
            ]
        );
    }

    #[test]
    fn transfers_and_samples_are_those_of_the_time() {
        let transfer = |time| Transfer { time, tid: 1, is_read: true };
        let mut activity = Activity::default();
        activity.transfers.insert(80, vec![transfer(1), transfer(5), transfer(9)]);
        assert_eq!(activity.transfers(80, 2, 9), [transfer(5), transfer(9)]);
        assert_eq!((activity.transfers(80, 10, 3), activity.transfers(81, 0, 99)), (&[][..], &[][..]));
        let thread = ThreadActivity { samples: vec![(1, 7), (4, 8), (6, 9)], ..ThreadActivity::default() };
        assert_eq!(thread.samples(2, 6).collect::<Vec<_>>(), [8]);
        let all = ThreadSpan { from: 0, until: 9, state: ThreadState::OnCpu };
        assert_eq!(activity.spans(3, 0, 9), Some(vec![all]), "no record: it did not leave its CPU");
        activity.lost = 1;
        assert_eq!(activity.spans(3, 0, 9), None, "or its records were lost");
    }

    #[test]
    fn nothing_is_said_of_a_time_of_which_records_were_lost() {
        let seen = thread(vec![wait(10, Some(25), 30)]);
        let thread = ThreadActivity { unseen: vec![(40, 50)], ..seen };
        assert!(thread.spans(0, 40).is_some() && thread.spans(50, 60).is_some());
        for (from, until) in [(0, 41), (45, 46), (49, 60), (0, 100)] {
            assert_eq!(thread.spans(from, until), None, "{from} to {until}");
        }
    }

    proptest! {
        #[test]
        fn spans_have_no_gaps(
            mut edges in prop::collection::vec(0_u64..1000, 0..40),
            wakes in prop::collection::vec(prop::option::of(0_u64..1000), 20),
            from in 0_u64..1000,
            length in 0_u64..1000,
        ) {
            edges.sort_unstable();
            let waits = edges.chunks_exact(2).zip(wakes).map(|(edge, woken)| wait(edge[0], woken, edge[1]));
            let spans = thread(waits.collect()).spans(from, from + length).expect("seen");
            let mut at = from;
            for span in &spans {
                prop_assert!(span.from == at && span.until > span.from, "{spans:?}");
                at = span.until;
            }
            prop_assert_eq!(at, from + length);
        }
    }
}
