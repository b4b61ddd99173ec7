//! The loop of a process: begins transfers when they are due, reads each when it is its turn, gives up and begins again, and
//! reports once a second. Orders are in [`orders`]. Sockets are left to `download`, pipes to `process`.

mod orders;

use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use rustix::io::Errno;
use wire::http1::HeadCache;

use super::download::{Download, Progress};
use super::record::{Advances, TransferSecond};
use super::slot::{Ramp, Slot, Stage};
use super::spec::{TransferAssignment, TransferOrder, TransferSpec, most_late, pace_goes_on};
use super::waiting::{Waiter, Waiting};
use super::wheel::Wheel;
use crate::clock::ClientClock;
use crate::clock::Nanos;
use crate::connecting::ConnectionError;
use crate::record::{ErrorKind, Micros, micros_of, record};

/// Slots, and descriptors, for clients that leave with their first byte. All of them taken means that none of these clients is answered.
pub(super) const PROBE_SLOTS: u32 = 64;

/// The same of reads while further transfers are due to begin: these wait for the client, those for their next bytes.
const TURNS_WHILE_RISING: u32 = TURNS / 2;

/// Turns in a row before replies that have arrived are read: they are timed when they are.
const TURNS: u32 = 256;

/// A process sleeps for this part of the time from one read of a transfer to the next, and no longer than that.
const NAPS: u32 = 400;
const LONGEST_NAP: Duration = Duration::from_millis(50);

/// Nanoseconds of a second.
const NANOS: u64 = 1_000_000_000;

/// Less than that is not worth a turn.
const SHORTEST_TURN: Duration = Duration::from_millis(10);

/// What a process reports.
pub(super) enum WorkerReport<'a> {
    /// A second is over.
    Second(&'a TransferSecond<Micros>),
    /// The answer to [`TransferOrder::Advances`].
    Advances(Advances),
}

/// Nobody takes the reports any more.
pub(super) struct Unheard;

/// All transfers of a process.
pub(super) struct Worker<'a> {
    spec: &'a TransferSpec,
    /// How far the clock here is ahead of the one that counts the seconds.
    clock: ClientClock,
    /// Which of the processes this is, and how many there are: they use the addresses in turn.
    process: u32,
    processes: u32,
    slots: Vec<Slot>,
    wheel: Wheel,
    waiting: Waiting,
    cache: HeadCache,
    buffer: Vec<u8>,
    /// Clients that have begun.
    clients: u32,
    ramp: Option<Ramp>,
    probe_gap: Option<Nanos>,
    next_probe: Nanos,
    /// How long it may sleep while transfers are in progress.
    nap: Duration,
    /// The number of transfers is maintained, since the mark.
    is_maintained: bool,
    /// Connections so far, for the turns of the addresses.
    turn: u64,
    second: TransferSecond<Micros>,
    in_progress: u64,
    stalled: u64,
    failing: u64,
    cpu_us: u64,
}

impl<'a> Worker<'a> {
    /// A process without a transfer, which may have `most`. Its first report is of `first_second`.
    pub fn new(assignment: &'a TransferAssignment) -> Result<Self, Errno> {
        let &TransferAssignment { transfers: ref spec, process, processes, ahead_ns, most, first_second } =
            assignment;
        let now = Nanos::now();
        let slots = (PROBE_SLOTS + most) as usize;
        Ok(Self {
            spec,
            clock: ClientClock { ahead_ns, ..ClientClock::default() },
            process,
            processes,
            slots: std::iter::repeat_with(Slot::new).take(slots).collect(),
            wheel: Wheel::new(now, slots),
            waiting: Waiting::new()?,
            cache: HeadCache::new(),
            buffer: vec![0; spec.read_bytes() as usize],
            clients: 0,
            ramp: None,
            probe_gap: None,
            next_probe: Nanos::NEVER,
            nap: (spec.interval() / NAPS).clamp(SHORTEST_TURN, LONGEST_NAP),
            is_maintained: false,
            turn: 0,
            second: TransferSecond::new(first_second),
            in_progress: 0,
            stalled: 0,
            failing: 0,
            cpu_us: cpu_us(),
        })
    }

    /// Works until the orders end, or nobody takes the reports.
    pub fn run(
        mut self,
        orders: &Receiver<TransferOrder>,
        report: &mut dyn FnMut(WorkerReport<'_>) -> Result<(), Unheard>,
    ) -> Result<(), Errno> {
        let mut reported = Vec::new();
        loop {
            loop {
                match orders.try_recv() {
                    Ok(TransferOrder::Advances) => {
                        if report(WorkerReport::Advances(self.advances())).is_err() {
                            return Ok(());
                        }
                    }
                    Ok(order) => self.obey(order),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return Ok(()),
                }
            }
            let now = Nanos::now();
            while self.clock.here(now).0 / NANOS > self.second.second {
                self.end_second();
                if report(WorkerReport::Second(&self.second)).is_err() {
                    return Ok(());
                }
                self.second = TransferSecond::new(self.second.second + 1);
            }
            let is_behind = self.begin_due(now) | self.take_turns();
            let wait = if is_behind { Duration::ZERO } else { self.pause() };
            self.waiting.wait(wait, &mut reported)?;
            for waiter in &reported {
                self.notice(*waiter);
            }
        }
    }

    /// A read that is later begins the pace of its transfer anew. The time of the rise was for other transfers: what is maintained begins
    /// without reads of then.
    fn most_late(&self) -> Duration {
        let window = if self.is_maintained { self.spec.interval() } else { Duration::ZERO };
        most_late(window)
    }

    /// How long nothing is due. Reads are so far apart that some are done in one go; those who only look are not late.
    fn pause(&self) -> Duration {
        let longest = if self.ramp.is_some() { SHORTEST_TURN } else { self.nap };
        longest.min(self.next_probe.since(Nanos::now()).into())
    }

    /// Gives the transfers their turns; returns whether more are due.
    fn take_turns(&mut self) -> bool {
        let turns = if self.ramp.is_some() { TURNS_WHILE_RISING } else { TURNS };
        for _ in 0..turns {
            let now = Nanos::now();
            let Some(slot) = self.wheel.take(now) else { return false };
            let Slot { stage, at, due, .. } = self.slots[slot as usize];
            if at > now.after(SHORTEST_TURN) {
                self.wheel.set(slot, at);
                continue;
            }
            match stage {
                Stage::Idle => {}
                Stage::Waiting => {
                    let detail =
                        format!("no first byte within {} s", self.spec.first_byte_within.as_secs_f64());
                    self.fail(slot, &ConnectionError { kind: ErrorKind::Timeout, detail });
                }
                Stage::InProgress => {
                    record(&mut self.second.times.late, micros_of(now.since(at)));
                    self.second.reads += 1;
                    let from = pace_goes_on(at, now, self.most_late());
                    self.second.lost_us += u64::from(micros_of(from.since(at)));
                    self.read(slot, from, due);
                }
                Stage::Pausing => self.begin(slot, at),
            }
        }
        true
    }

    /// Begins an attempt that was due at this instant.
    fn begin(&mut self, slot: u32, due: Nanos) {
        let turn = self.turn * u64::from(self.processes) + u64::from(self.process);
        self.turn += 1;
        let (to, from) = self.addresses(turn);
        let is_probe = slot < PROBE_SLOTS;
        if !is_probe {
            self.second.begun += 1;
        }
        let begun = Download::begin(self.spec, to, from);
        let state = &mut self.slots[slot as usize];
        state.generation = state.generation.wrapping_add(1);
        (state.stage, state.due) = (Stage::Waiting, due);
        let waiter = Waiter { slot, generation: state.generation };
        let watched = begun.and_then(|download| {
            self.waiting.add(&download, waiter, download.is_sent(&self.spec.request))?;
            Ok(download)
        });
        match watched {
            Ok(download) => {
                state.download = Some(download);
                self.set(slot, Nanos::now().after(self.spec.first_byte_within));
            }
            Err(failure) => self.fail(slot, &failure),
        }
    }

    /// Every local address is used for each target.
    fn addresses(&self, turn: u64) -> (SocketAddr, Option<IpAddr>) {
        let TransferSpec { addresses, sources, .. } = self.spec;
        let to = addresses[(turn % addresses.len() as u64) as usize];
        let next = turn / addresses.len() as u64;
        (to, sources.get((next % sources.len().max(1) as u64) as usize).copied())
    }

    /// The poller has reported a connection that waits.
    fn notice(&mut self, waiter: Waiter) {
        let Waiter { slot, generation } = waiter;
        let state = &mut self.slots[slot as usize];
        if state.generation != generation || state.stage != Stage::Waiting {
            return;
        }
        let Some(download) = &mut state.download else { return };
        if !download.is_sent(&self.spec.request) {
            let sent = download
                .send(&self.spec.request)
                .and_then(|is_sent| Ok(self.waiting.again(download, waiter, is_sent)?));
            if let Err(failure) = sent {
                self.fail(slot, &failure);
            }
            return;
        }
        let due = state.due;
        let now = Nanos::now();
        self.read(slot, now, due);
    }

    /// Reads what is there, and decides when to read again. `from` is when the time to the next read begins.
    fn read(&mut self, slot: u32, from: Nanos, due: Nanos) {
        let state = &mut self.slots[slot as usize];
        let Some(download) = &mut state.download else { return };
        let progress = download.read(self.spec, &mut self.cache, &mut self.buffer);
        let now = Nanos::now();
        let (count, is_complete) = match progress {
            Ok(Progress::Nothing) => return self.found_nothing(slot, now),
            Ok(Progress::Bytes(count)) => (count, false),
            Ok(Progress::Complete(count)) => (count, true),
            Err(failure) => return self.fail(slot, &failure),
        };
        let was_waiting = state.stage == Stage::Waiting;
        if was_waiting && slot < PROBE_SLOTS {
            record(&mut self.second.times.probe, micros_of(now.since(due)));
            self.count_probe(true);
            return self.leave(slot);
        }
        if was_waiting {
            record(&mut self.second.times.first_byte, micros_of(now.since(due)));
            if !is_complete {
                // From now on its turns come from the wheel.
                self.waiting.remove(download);
            }
            state.stage = Stage::InProgress;
            self.in_progress += 1;
            self.failing -= u64::from(std::mem::take(&mut state.is_failing));
        }
        self.stalled -= u64::from(std::mem::take(&mut state.is_stalled));
        state.progressed = now;
        state.advances = state.advances.saturating_add(1);
        state.bytes_since_mark = state.bytes_since_mark.saturating_add(count);
        self.second.bytes += u64::from(count);
        if is_complete {
            record(&mut self.second.times.completion, micros_of(now.since(due)));
            self.second.completed += 1;
            self.end(slot);
            return self.begin(slot, now);
        }
        let pause = Duration::try_from_secs_f64(f64::from(count) / self.spec.pace_bytes_per_s);
        self.set(slot, from.after(pause.unwrap_or(Duration::from_hours(1))));
    }

    /// A turn has found nothing: it has another one soon, until the client gives up.
    fn found_nothing(&mut self, slot: u32, now: Nanos) {
        let state = &mut self.slots[slot as usize];
        if state.stage == Stage::Waiting {
            // The event was of the request's last bytes.
            let waiter = Waiter { slot, generation: state.generation };
            if let Some(download) = &state.download {
                let _ = self.waiting.again(download, waiter, true);
            }
            return;
        }
        self.second.empty_reads += 1;
        let still = Duration::from(now.since(state.progressed));
        if still >= self.spec.gives_up_after {
            let detail = format!("no byte for {} s", still.as_secs());
            return self.fail(slot, &ConnectionError { kind: ErrorKind::Timeout, detail });
        }
        if still >= self.spec.stalled_after && !state.is_stalled {
            state.is_stalled = true;
            self.stalled += 1;
        }
        self.set(slot, now.after((self.spec.interval() / 2).max(SHORTEST_TURN)));
    }

    /// The attempt, or the transfer, has failed: its client tries again.
    fn fail(&mut self, slot: u32, failure: &ConnectionError) {
        if slot < PROBE_SLOTS {
            self.count_probe(false);
            return self.leave(slot);
        }
        self.second.errors.add(failure.kind, 1, &failure.detail);
        self.end(slot);
        let state = &mut self.slots[slot as usize];
        self.failing += u64::from(!std::mem::replace(&mut state.is_failing, true));
        state.stage = Stage::Pausing;
        self.set(slot, Nanos::now().after(self.spec.retry_after));
    }

    /// A client wants no transfer any more.
    fn leave(&mut self, slot: u32) {
        self.end(slot);
        let state = &mut self.slots[slot as usize];
        self.failing -= u64::from(std::mem::take(&mut state.is_failing));
        self.wheel.clear(slot);
    }

    /// Closes the connection.
    fn end(&mut self, slot: u32) {
        let state = &mut self.slots[slot as usize];
        self.in_progress -= u64::from(state.stage == Stage::InProgress);
        self.stalled -= u64::from(std::mem::take(&mut state.is_stalled));
        (state.stage, state.is_marked, state.download) = (Stage::Idle, false, None);
    }

    fn count_probe(&mut self, is_answered: bool) {
        self.second.probes += 1;
        self.second.probes_failed += u64::from(!is_answered);
    }

    fn set(&mut self, slot: u32, at: Nanos) {
        self.slots[slot as usize].at = at;
        self.wheel.set(slot, at);
    }

    /// The gauges of the second that ends.
    fn end_second(&mut self) {
        let cpu = cpu_us();
        self.second.wanted = self.clients.into();
        self.second.in_progress = self.in_progress;
        self.second.stalled = self.stalled;
        self.second.failing = self.failing;
        self.second.memory_bytes = memory_bytes();
        self.second.cpu_us = cpu - std::mem::replace(&mut self.cpu_us, cpu);
    }
}

/// CPU time of this process since its start, in user mode and in the kernel.
fn cpu_us() -> u64 {
    use nix::sys::resource::{UsageWho, getrusage};
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return 0 };
    let us = |time: nix::sys::time::TimeVal| (time.tv_sec() * 1_000_000 + time.tv_usec()).cast_unsigned();
    us(usage.user_time()) + us(usage.system_time())
}

/// Memory of this process that is in no file; 0 where the kernel does not say.
fn memory_bytes() -> u64 {
    let status = procfs::process::Process::myself().and_then(|process| process.status());
    status.ok().and_then(|status| status.rssanon).unwrap_or_default() * 1024
}
