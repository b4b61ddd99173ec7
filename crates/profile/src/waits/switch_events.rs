//! The kernel's records of switches and wakes, of whole CPUs: who may see them has stacks of the kernel, too.
//!
//! Switches have buffers of their own. A stack takes as much room as 500 of them: where nobody reads for a while, stacks are lost and
//! switches are not.
//!
//! An ordinary user gets records of switches of own threads, but no stacks: a switch happens in the kernel, and samples of the
//! kernel are excluded for them.

use std::io;

use host::{CpuSet, Host};
use perf_event_open::config::{Opts, SampleOn, Target};
use perf_event_open::count::Counter;
use perf_event_open::event::sw::Software;
use perf_event_open::event::tp::Tracepoint;
use perf_event_open::sample::record::ctx::Switch;
use perf_event_open::sample::record::{Record, RecordId};

use super::tracepoints::Waking;
use crate::kernel_events::{
    KERNEL_CHAIN, KernelEvent, MACHINE_BUFFERS, ProcessChange, ThreadSample, process_changes, read_sample,
    timed_options, with_user_stacks,
};

/// Bytes of a stack that the kernel copies.
pub(super) const STACK_BYTES: u32 = 16 << 10;

/// Which switches have their stack: odd numbers, so that threads that alternate are all met.
const EVERY: [u64; 12] = [1, 3, 7, 13, 31, 61, 127, 251, 509, 1021, 2039, 4093];

/// The place in [`EVERY`] at the begin, when nobody knows how often threads switch.
const FIRST_EVERY: usize = 4;

/// What the kernel reports. Times are nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Debug)]
pub(super) enum SwitchRecord {
    /// A thread leaves its CPU with this stack.
    Stack(ThreadSample, u64),
    /// A thread has left its CPU.
    Out {
        pid: u32,
        tid: u32,
        time: u64,
        is_preempted: bool,
    },
    /// A thread runs.
    In {
        pid: u32,
        tid: u32,
        time: u64,
    },
    /// The thread of the sample wakes another one.
    Wakes {
        sample: ThreadSample,
        time: u64,
        tid: u32,
        is_interrupt: bool,
    },
    /// A thread has ended.
    Ended {
        pid: u32,
        tid: u32,
        time: u64,
    },
    Changed(ProcessChange),
    /// Samples that had no room in the buffer: all switches are known.
    LostSamples(u64),
}

/// Samples of one sort on all CPUs, with how often an event has one.
struct EventGroup {
    events: Vec<KernelEvent>,
    every: usize,
    /// Samples since the last correction.
    samples: u64,
}

/// Open events.
pub(super) struct SwitchEvents {
    /// Each switch, without its stack; and changes of processes.
    switches: Vec<KernelEvent>,
    /// Stacks of some of the switches.
    stacks: EventGroup,
    wakings: Option<(EventGroup, Waking)>,
    /// Why nobody knows who woke a thread.
    pub no_wakers: Option<String>,
}

impl SwitchEvents {
    /// Opens the events of these CPUs. They do not count yet.
    pub(super) fn open(cpus: Option<&CpuSet>) -> io::Result<Self> {
        let online = Host::local().online_cpus();
        let cpus = cpus.unwrap_or(&online);
        let mut opts = timed_options();
        opts.extra_record.task = true;
        opts.extra_record.comm = true;
        opts.extra_record.ctx_switch = true;
        let switches = KernelEvent::on_each(cpus, &MACHINE_BUFFERS, |target| {
            Counter::new(Software::Dummy, target, &opts)
        })?;
        let mut opts = options();
        opts.sample_format.call_chain = Some(KERNEL_CHAIN);
        let stacks = EventGroup::open(cpus, |target| Counter::new(Software::CtxSwitch, target, &opts))?;
        let wakings = Waking::find().and_then(|waking| {
            let mut opts = options();
            opts.sample_format.raw = true;
            let open = |target| Counter::new(Tracepoint { id: waking.id }, target, &opts);
            match EventGroup::open(cpus, open) {
                Ok(events) => Ok((events, waking)),
                Err(error) => Err(format!("the tracepoint sched_waking cannot be used: {error}")),
            }
        });
        let (wakings, no_wakers) = match wakings {
            Ok(wakings) => (Some(wakings), None),
            Err(why) => (None, Some(why)),
        };
        Ok(Self { switches, stacks, wakings, no_wakers })
    }

    fn all(&self) -> impl Iterator<Item = &KernelEvent> {
        let wakings = self.wakings.iter().flat_map(|(group, _)| &group.events);
        self.switches.iter().chain(&self.stacks.events).chain(wakings)
    }

    /// Begins.
    pub(super) fn enable(&self) {
        self.all().for_each(|event| drop(event.counter.enable()));
    }

    /// Ends; what is in the buffers can still be read.
    pub(super) fn disable(&self) {
        self.all().for_each(|event| drop(event.counter.disable()));
    }

    /// Reads what the kernel has reported since the last time, CPU after CPU.
    pub(super) fn drain(&mut self, handle: &mut impl FnMut(SwitchRecord)) {
        for event in &self.switches {
            for (_, record) in event.buffer.iter().into_iter().flatten() {
                match record {
                    record @ (Record::CtxSwitch(_) | Record::Exit(_)) => {
                        switch(record).into_iter().for_each(&mut *handle);
                    }
                    record => process_changes(record).map(SwitchRecord::Changed).for_each(&mut *handle),
                }
            }
        }
        self.stacks.drain(&|sample, time, _| Some(SwitchRecord::Stack(sample, time)), handle);
        if let Some((group, waking)) = &mut self.wakings {
            let waking = *waking;
            let read = move |sample, time, raw: Vec<u8>| {
                let (tid, is_interrupt) = waking.read(&raw)?;
                Some(SwitchRecord::Wakes { sample, time, tid, is_interrupt })
            };
            group.drain(&read, handle);
        }
    }

    /// Corrects how often a switch has its stack, from the samples of the time since the last correction.
    pub(super) fn correct(&mut self, most: f64) {
        self.stacks.correct(most);
        if let Some((group, _)) = &mut self.wakings {
            group.correct(most);
        }
    }

    /// Every so many switches, one has its stack.
    pub(super) fn every(&self) -> u64 {
        EVERY[self.stacks.every]
    }
}

impl EventGroup {
    fn open(cpus: &CpuSet, open: impl Fn(Target) -> io::Result<Counter>) -> io::Result<Self> {
        let events = KernelEvent::on_each(cpus, &MACHINE_BUFFERS, open)?;
        Ok(Self { events, every: FIRST_EVERY, samples: 0 })
    }

    fn drain(
        &mut self,
        read: &impl Fn(ThreadSample, u64, Vec<u8>) -> Option<SwitchRecord>,
        handle: &mut impl FnMut(SwitchRecord),
    ) {
        for event in &self.events {
            for (_, record) in event.buffer.iter().into_iter().flatten() {
                match record {
                    Record::Sample(mut sample) => {
                        self.samples += 1;
                        let time = sample.record_id.time.unwrap_or_default();
                        let raw = sample.raw.take().unwrap_or_default();
                        read(read_sample(*sample), time, raw).into_iter().for_each(&mut *handle);
                    }
                    record => {
                        let lost = process_changes(record).filter_map(ProcessChange::lost);
                        lost.map(SwitchRecord::LostSamples).for_each(&mut *handle);
                    }
                }
            }
        }
    }

    fn correct(&mut self, most: f64) {
        let samples = std::mem::take(&mut self.samples) as f64;
        let before = self.every;
        self.every = corrected(before, samples, most);
        if self.every != before {
            for event in &self.events {
                // What cannot be changed stays as it is.
                let _ = event.buffer.sample_on(EVERY[self.every]);
            }
        }
    }
}

/// The place in [`EVERY`] that gives at most so many samples in the next time as long as the last one.
fn corrected(place: usize, samples: f64, most: f64) -> usize {
    let events = samples * EVERY[place] as f64;
    let fitting = EVERY.iter().position(|every| events / *every as f64 <= most).unwrap_or(EVERY.len() - 1);
    // Few samples say little: it comes down step by step.
    fitting.max(place.saturating_sub(1))
}

fn options() -> Opts {
    let timed = Opts { sample_on: SampleOn::Count(EVERY[FIRST_EVERY]), ..timed_options() };
    with_user_stacks(timed, STACK_BYTES)
}

fn switch(record: Record) -> Option<SwitchRecord> {
    let of = |id: Option<RecordId>| {
        let id = id?;
        let task = id.task?;
        Some((task.pid, task.tid, id.time?))
    };
    match record {
        Record::CtxSwitch(switch) => {
            let (pid, tid, time) = of(switch.record_id)?;
            Some(match switch.info {
                Switch::OutTo { preempt, .. } => SwitchRecord::Out { pid, tid, time, is_preempted: preempt },
                Switch::InFrom(_) => SwitchRecord::In { pid, tid, time },
            })
        }
        Record::Exit(exit) => {
            let (pid, tid) = (exit.task.pid, exit.task.tid);
            Some(SwitchRecord::Ended { pid, tid, time: exit.record_id.and_then(|id| id.time)? })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_switches_give_no_more_stacks() {
        assert_eq!(EVERY[corrected(4, 10_000.0, 100.0)], 4093);
        assert_eq!(EVERY[corrected(4, 100.0, 100.0)], 31);
        assert_eq!(EVERY[corrected(4, 300.0, 100.0)], 127);
        // Down step by step.
        assert_eq!(EVERY[corrected(4, 0.0, 100.0)], 13);
        assert_eq!(corrected(0, 0.0, 100.0), 0);
        assert_eq!(corrected(EVERY.len() - 1, 1e9, 1.0), EVERY.len() - 1);
    }
}
