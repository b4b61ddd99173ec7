//! Waits for sockets until an instant: epoll, with a sleep that does not end late.
//!
//! A sleeping thread has a wake-up latency: timer and scheduler take tens of microseconds on a virtual machine. The poller
//! measures it when it is created, sleeps until that much before the instant, and polls in a loop for the rest. Where the
//! worker has a CPU of its own, it polls all the time. Polls that find nothing are counted as spinning: they are CPU time but
//! not work.

use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::epoll::{Event, EventData, EventFlags};
use rustix::io::Errno;

use super::clock::Clock;
use super::own_cpu::{self, LostTurns, OwnCpus};
use crate::clock::Nanos;
use crate::event_queue::EventQueue;

/// Most events of one call. Enough that a saturated worker pays little for the call; few enough that the schedule is
/// checked often.
const BATCH: usize = 128;

/// Number of sleeps to measure the wake-up latency.
const WAKE_TRIALS: usize = 20;
const WAKE_TRIAL: Duration = Duration::from_micros(200);
/// The thread never spins for longer than this before an instant, even if its wake-up latency is longer.
const LONGEST_SPIN: Duration = Duration::from_micros(500);

/// After this time without an event the caller has its turn, also where the thread spins.
const SPIN_TURN: Duration = Duration::from_micros(200);

/// Identifies a socket: its slot and its number in that slot, so that a late event of an earlier socket is recognized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub slot: u32,
    pub generation: u32,
}

impl From<Token> for EventData {
    fn from(token: Token) -> Self {
        Self::new_u64(u64::from(token.generation) << 32 | u64::from(token.slot))
    }
}

impl From<EventData> for Token {
    fn from(data: EventData) -> Self {
        Self { slot: data.u64() as u32, generation: (data.u64() >> 32) as u32 }
    }
}

/// Watched sockets, with the thread's wake-up latency.
pub(super) struct Poller {
    events: EventQueue,
    /// How long before an instant to stop sleeping.
    wake_latency: Nanos,
    /// While each worker has one of its own, the thread polls instead of sleeping.
    own_cpus: OwnCpus,
    lost_turns: LostTurns,
    spun: Nanos,
}

impl Poller {
    /// Sets the thread's timer slack to its minimum and measures the wake-up latency (4 ms). While each worker has
    /// one of `own_cpus`, waits never sleep.
    pub fn new(own_cpus: OwnCpus) -> Result<Self, Errno> {
        // The default slack of 50 µs would be added to every sleep. Where the kernel refuses this, only the measured
        // latency is longer.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut poller = Self {
            events: EventQueue::new(BATCH)?,
            wake_latency: Nanos(0),
            own_cpus,
            lost_turns: LostTurns::default(),
            spun: Nanos(0),
        };
        let mut late: Vec<Duration> = Vec::with_capacity(WAKE_TRIALS);
        for _ in 0..WAKE_TRIALS {
            let until = Nanos::now().after(WAKE_TRIAL);
            poller.poll(WAKE_TRIAL)?;
            late.push(Nanos::now().since(until).into());
        }
        late.sort_unstable();
        poller.wake_latency = late[WAKE_TRIALS * 9 / 10].min(LONGEST_SPIN).into();
        Ok(poller)
    }

    /// Reports every event of a socket once (edge-triggered).
    pub fn watch(&self, socket: impl AsFd, token: Token) -> Result<(), Errno> {
        let all = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        self.events.add(socket, token.into(), all)
    }

    /// Waits for events from `begun`, which is now, until `until` at the latest; with an instant in the past it only polls.
    /// Returns when it woke, with or without events; the caller calls again.
    #[inline(always)]
    pub fn wait(&mut self, begun: Nanos, until: Nanos, clock: &mut Clock) -> Result<Nanos, Errno> {
        let left = until.since(begun);
        if left > Nanos(0) && self.own_cpus.suffice(begun) {
            return self.spin(begun, until, clock);
        }
        let sleep = left.since(self.wake_latency);
        self.poll(sleep.into())?;
        let woken = clock.now();
        if self.events.events().is_empty() && sleep == Nanos(0) && left > Nanos(0) {
            self.spun += woken.since(begun);
        }
        Ok(woken)
    }

    /// Polls until there are events. Should another thread need this CPU after all, it runs in between.
    fn spin(&mut self, begun: Nanos, until: Nanos, clock: &mut Clock) -> Result<Nanos, Errno> {
        let until = until.min(begun.after(SPIN_TURN));
        let mut polled = begun;
        loop {
            self.poll(Duration::ZERO)?;
            let woken = clock.now();
            if self.lost_turns.add(woken.since(polled)) {
                own_cpu::sleep_from(woken);
            }
            if !self.events.events().is_empty() {
                self.spun += polled.since(begun);
                return Ok(woken);
            }
            if woken >= until {
                self.spun += woken.since(begun);
                return Ok(woken);
            }
            polled = woken;
            rustix::thread::sched_yield();
        }
    }

    #[inline(always)]
    fn poll(&mut self, sleep: Duration) -> Result<(), Errno> {
        self.events.wait(Some(sleep)).map(|_| ())
    }

    /// Number of events of the last wait.
    pub fn len(&self) -> usize {
        self.events.events().len()
    }

    /// An event of the last wait: the socket, and whether the peer has shut down or the socket has failed.
    pub fn event(&self, at: usize) -> (Token, bool) {
        let Event { flags, data, .. } = self.events.events()[at];
        (data.into(), flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR))
    }

    /// Time spent in polls that found nothing since the last call.
    pub fn take_spun(&mut self) -> Nanos {
        std::mem::take(&mut self.spun)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn wait_5_s(poller: &mut Poller) {
        let now = Nanos::now();
        poller.wait(now, now.after(Duration::from_secs(5)), &mut Clock::new()).expect("wait");
    }

    #[test]
    fn events_have_the_token_of_their_socket() {
        let mut poller = Poller::new(OwnCpus::NONE).expect("epoll");
        let (mut near, far) = UnixStream::pair().expect("a pair");
        let token = Token { slot: 7, generation: u32::MAX };
        poller.watch(&far, token).expect("watch");
        near.write_all(b"x").expect("write");
        wait_5_s(&mut poller);
        assert_eq!(poller.event(0), (token, false));
        drop(near);
        wait_5_s(&mut poller);
        assert_eq!(poller.event(0), (token, true));
    }

    #[test]
    fn a_thread_with_a_cpu_of_its_own_spins_until_an_event_or_its_turn() {
        let mut poller = Poller::new(OwnCpus::ENOUGH).expect("epoll");
        let (mut near, far) = UnixStream::pair().expect("a pair");
        poller.watch(&far, Token { slot: 1, generation: 1 }).expect("watch");
        // A new socket can be written to, which is an event.
        wait_5_s(&mut poller);
        assert_eq!(poller.len(), 1);
        wait_5_s(&mut poller);
        assert_eq!(poller.len(), 0, "the caller has its turn without an event");
        assert!(poller.take_spun() >= SPIN_TURN.into());
        near.write_all(b"x").expect("write");
        wait_5_s(&mut poller);
        assert_eq!(poller.len(), 1);
    }

    #[test]
    fn polls_that_find_nothing_count_as_spinning() {
        let mut poller = Poller::new(OwnCpus::NONE).expect("epoll");
        poller.wake_latency = LONGEST_SPIN.into();
        let mut clock = Clock::new();
        let mut now = clock.now();
        let until = now.after(Duration::from_micros(300));
        while now < until {
            now = poller.wait(now, until, &mut clock).expect("wait");
        }
        assert!(poller.take_spun() > Nanos(0));
        assert_eq!(poller.take_spun(), Nanos(0));
    }
}
