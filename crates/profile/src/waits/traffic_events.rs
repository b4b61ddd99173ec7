//! Events that tell which thread serves which connection, and when: reads and sends of sockets, all wakes, and samples of CPU
//! time with their instant. Only who may see the whole machine has them.

use std::ffi::CString;
use std::io;

use host::{CpuSet, Host};
use perf_event_open::config::{Opts, SampleOn, Target};
use perf_event_open::count::Counter;
use perf_event_open::event::sw::Software;
use perf_event_open::event::tp::Tracepoint;
use perf_event_open::sample::record::{Record, sample::Sample};

use super::switch_events::STACK_BYTES;
use super::tracepoints::{SocketSend, TcpRead, Waking};
use crate::kernel_events::{
    KERNEL_CHAIN, KernelEvent, MACHINE_BUFFERS, ProcessChange, ThreadSample, process_changes, read_sample,
    timed_options, with_user_stacks,
};

/// Sizes of a buffer of small records, as powers of two of pages.
const SMALL_BUFFERS: [u8; 3] = [8, 7, 5];

/// Samples of CPU time a second, not in step with work that is done each 10 ms.
const SAMPLES_PER_S: u64 = 499;

/// What the kernel reports. Times are nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Debug)]
pub(super) enum TrafficRecord {
    /// A thread has read data of a connection whose other end has this port.
    Read { pid: u32, tid: u32, time: u64, socket: u64, peer_port: u16 },
    /// A thread has sent data.
    Sent { pid: u32, tid: u32, time: u64, socket: u64 },
    /// A thread is woken, by a thread or an interrupt.
    Woken { tid: u32, time: u64, by: (u32, u32), is_interrupt: bool },
    /// A thread runs.
    Runs(ThreadSample, u64),
    /// Records that had no room in the buffer.
    Lost(u64),
}

/// Open events.
pub(super) struct TrafficEvents {
    reads: (Vec<KernelEvent>, TcpRead),
    sends: Option<(Vec<KernelEvent>, SocketSend)>,
    wakes: (Vec<KernelEvent>, Waking),
    samples: Vec<KernelEvent>,
}

impl TrafficEvents {
    /// Opens the events of servers on these CPUs that listen at these ports. They do not count yet. The error says why they
    /// cannot be opened.
    pub(super) fn open(cpus: Option<&CpuSet>, ports: &[u16]) -> Result<Self, String> {
        let online = Host::local().online_cpus();
        let cpus = cpus.unwrap_or(&online);
        let (read, waking) = (TcpRead::find()?, Waking::find()?);
        // Reads of clients on the same CPUs are others'.
        let filter: Vec<String> = ports.iter().map(|port| format!("sport == {port}")).collect();
        let filter = CString::new(filter.join(" || ")).map_err(|error| error.to_string())?;
        let reads = KernelEvent::on_each(cpus, &SMALL_BUFFERS, |target| {
            let event = tracepoint(read.id, target)?;
            event.with_ftrace_filter(&filter)?;
            Ok(event)
        });
        let reads = reads.map_err(|error| format!("reads of connections cannot be recorded: {error}"))?;
        // An interrupt of another CPU can wake a thread.
        let wakes = KernelEvent::on_each(&online, &SMALL_BUFFERS, |target| tracepoint(waking.id, target))
            .map_err(|error| format!("wakes cannot be recorded: {error}"))?;
        let sends = SocketSend::find().ok().and_then(|send| {
            let events = KernelEvent::on_each(cpus, &SMALL_BUFFERS, |target| tracepoint(send.id, target));
            Some((events.ok()?, send))
        });
        let samples = KernelEvent::on_each(cpus, &MACHINE_BUFFERS, |target| {
            Counter::new(Software::CpuClock, target, cpu_samples())
        });
        let samples = samples.map_err(|error| format!("CPU time cannot be sampled: {error}"))?;
        Ok(Self { reads: (reads, read), sends, wakes: (wakes, waking), samples })
    }

    /// Whether sends are seen.
    pub(super) fn sees_sends(&self) -> bool {
        self.sends.is_some()
    }

    fn all(&self) -> impl Iterator<Item = &KernelEvent> {
        let sends = self.sends.iter().flat_map(|(events, _)| events);
        self.reads.0.iter().chain(sends).chain(&self.wakes.0).chain(&self.samples)
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
    pub(super) fn drain(&self, handle: &mut impl FnMut(TrafficRecord)) {
        let (reads, read) = &self.reads;
        drain(reads, handle, |sample| {
            let (pid, tid, time) = task(&sample)?;
            let (socket, peer_port) = read.read(&sample.raw?)?;
            Some(TrafficRecord::Read { pid, tid, time, socket, peer_port })
        });
        if let Some((sends, send)) = &self.sends {
            drain(sends, handle, |sample| {
                let (pid, tid, time) = task(&sample)?;
                Some(TrafficRecord::Sent { pid, tid, time, socket: send.read(&sample.raw?)? })
            });
        }
        let (wakes, waking) = &self.wakes;
        drain(wakes, handle, |sample| {
            let (pid, tid, time) = task(&sample)?;
            let (woken, is_interrupt) = waking.read(&sample.raw?)?;
            Some(TrafficRecord::Woken { tid: woken, time, by: (pid, tid), is_interrupt })
        });
        drain(&self.samples, handle, |sample| {
            let time = sample.record_id.time?;
            Some(TrafficRecord::Runs(read_sample(sample), time))
        });
    }
}

fn tracepoint(id: u64, target: Target) -> io::Result<Counter> {
    let mut opts = Opts { sample_on: SampleOn::Count(1), ..timed_options() };
    opts.sample_format.raw = true;
    Counter::new(Tracepoint { id }, target, &opts)
}

fn cpu_samples() -> Opts {
    let timed = Opts { sample_on: SampleOn::Freq(SAMPLES_PER_S), ..timed_options() };
    let mut opts = with_user_stacks(timed, STACK_BYTES);
    opts.exclude.idle = true;
    opts.sample_format.call_chain = Some(KERNEL_CHAIN);
    opts
}

fn task(sample: &Sample) -> Option<(u32, u32, u64)> {
    let task = sample.record_id.task.as_ref()?;
    Some((task.pid, task.tid, sample.record_id.time?))
}

fn drain(
    events: &[KernelEvent],
    handle: &mut impl FnMut(TrafficRecord),
    read: impl Fn(Sample) -> Option<TrafficRecord>,
) {
    for event in events {
        for (_, record) in event.buffer.iter().into_iter().flatten() {
            match record {
                Record::Sample(sample) => read(*sample).into_iter().for_each(&mut *handle),
                record => {
                    let lost = process_changes(record).filter_map(ProcessChange::lost);
                    lost.map(TrafficRecord::Lost).for_each(&mut *handle);
                }
            }
        }
    }
}
