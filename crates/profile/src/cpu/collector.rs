//! Counts samples: unwinds each stack as it comes, and names the functions at the end.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use super::events::Event;
use crate::Stacks;
use crate::code::address_space::{FileIndex, UserFrame};
use crate::code::stack_reader::{Function, FunctionNames, StackReader};
use crate::followed::follow;
use crate::kernel_events::ThreadSample;
use crate::stacks::{Frame, FrameKind, Losses, SampleSource, StackCount, StacksBuilder};
use crate::thread_names::ThreadNames;

/// Most different stacks, about 100 MB. Others are counted as one.
const MOST_STACKS: usize = 100_000;

/// Most stacks that wait for others that they can be completed from.
const MOST_CUT: usize = 10_000;

/// Share of samples from which on a file without symbols is worth a note.
const NOTABLE_SHARE: f64 = 0.02;

/// Functions of the kernel that enable interrupts again, by the beginning of their names.
const ENABLING: [&str; 4] = ["_raw_spin_unlock_irq", "finish_task_switch", "handle_softirqs", "__do_softirq"];

/// A stack that does not reach the start of its thread.
struct CutStack {
    thread: usize,
    tid: u32,
    kernel: Vec<Function>,
    user: Vec<UserFrame>,
}

/// Counts samples of some processes.
pub(super) struct Collector {
    pub has_kernel: bool,
    pub source: SampleSource,
    pub period: Duration,
    /// Bytes of a stack that are copied if all of them are in memory.
    pub stack_bytes: u32,
    pub cost: Duration,
    pub running: Option<Duration>,
    pub losses: Losses,
    members: HashSet<u32>,
    names: ThreadNames,
    reader: StackReader,
    cut: Vec<CutStack>,
    /// Thread's name and functions, innermost first.
    stacks: HashMap<(usize, Vec<Function>), u64>,
    /// Samples whose stack was one too many, by thread's name.
    others: HashMap<usize, u64>,
}

impl Collector {
    pub(super) fn new() -> Self {
        Self {
            has_kernel: false,
            source: SampleSource::CpuClock,
            period: Duration::ZERO,
            stack_bytes: 0,
            cost: Duration::ZERO,
            running: None,
            losses: Losses::default(),
            members: HashSet::new(),
            names: ThreadNames::default(),
            reader: StackReader::new(),
            cut: Vec::new(),
            stacks: HashMap::new(),
            others: HashMap::new(),
        }
    }

    /// Reads the code of processes before their first sample.
    pub(super) fn prepare(&mut self, pids: &[u32]) {
        self.belong(pids);
        self.reader.prepare(pids, self.has_kernel);
    }

    /// These processes are in the profile.
    pub(super) fn belong(&mut self, pids: &[u32]) {
        self.members.extend(pids);
    }

    /// Takes an event of any process.
    pub(super) fn take(&mut self, event: Event) {
        match event {
            Event::Sample(sample) if self.members.contains(&sample.pid) => self.count(&sample),
            Event::Sample(_) => {}
            Event::Changed(change) => {
                self.losses.lost += follow(change, &mut self.members, &mut self.reader, &mut self.names);
            }
        }
    }

    fn count(&mut self, sample: &ThreadSample) {
        let thread = self.names.of(sample.pid, sample.tid);
        let kernel = self.reader.kernel_functions(&sample.kernel);
        let Some((registers, copy)) = &sample.user else { return self.add(thread, kernel, &[]) };
        let is_cut = copy.len() < self.stack_bytes as usize;
        let Some(user) = self.reader.user((sample.pid, sample.tid), *registers, copy, is_cut) else {
            self.losses.without_stack += 1;
            return self.add_functions(thread, [kernel, vec![Function::Anonymous]].concat());
        };
        if user.is_complete {
            self.losses.completed += u64::from(user.is_completed);
            self.add(thread, kernel, &user.frames);
        } else if self.cut.len() < MOST_CUT {
            self.cut.push(CutStack { thread, tid: sample.tid, kernel, user: user.frames });
        } else {
            self.losses.incomplete += 1;
            self.add(thread, kernel, &user.frames);
        }
    }

    /// Completes the stacks that came before those that they can be completed from.
    fn complete_cut(&mut self) {
        for mut cut in std::mem::take(&mut self.cut) {
            let is_completed = self.reader.complete(cut.tid, &mut cut.user);
            self.losses.completed += u64::from(is_completed);
            self.losses.incomplete += u64::from(!is_completed);
            self.add(cut.thread, cut.kernel, &cut.user);
        }
    }

    /// Adds a sample: functions of the kernel and then of the program, innermost first.
    fn add(&mut self, thread: usize, kernel: Vec<Function>, user: &[UserFrame]) {
        let mut stack = kernel;
        stack.extend(self.reader.user_functions(user));
        self.add_functions(thread, stack);
    }

    fn add_functions(&mut self, thread: usize, stack: Vec<Function>) {
        let key = (thread, stack);
        if self.stacks.len() < MOST_STACKS || self.stacks.contains_key(&key) {
            *self.stacks.entry(key).or_default() += 1;
        } else {
            *self.others.entry(thread).or_default() += 1;
        }
    }

    /// The profile.
    pub(super) fn finish(mut self, length: Duration) -> Stacks {
        self.complete_cut();
        let names = self.reader.names(self.stacks.keys().flat_map(|(_, stack)| stack));
        let mut notes = self.unnamed(&names);
        let mut builder = StacksBuilder::default();
        for ((thread, stack), samples) in &self.stacks {
            let frames = stack.iter().rev().map(|function| self.reader.frame(&names, *function));
            builder.add(self.names.get(*thread), frames, *samples);
        }
        for (thread, samples) in &self.others {
            builder.add(self.names.get(*thread), [Frame::label("[other stacks]")], *samples);
        }
        if self.has_kernel && self.reader.kernel.is_empty() {
            notes.push(
                "functions of the kernel have no names: run as root, or set kernel.kptr_restrict to 0".into(),
            );
        }
        let (frames, threads) = builder.build();
        let all = threads.iter().flat_map(|thread| &thread.stacks);
        notes.extend(late_samples(self.source, &frames, all));
        Stacks {
            source: self.source,
            period: self.period,
            length,
            has_kernel: self.has_kernel,
            frames,
            threads,
            losses: self.losses,
            notes,
            cost: self.cost,
            running: self.running,
        }
    }

    /// Files without symbols in which many samples are.
    fn unnamed(&self, names: &FunctionNames) -> Vec<String> {
        let samples: u64 = self.stacks.values().sum();
        let mut unnamed: BTreeMap<FileIndex, u64> = BTreeMap::new();
        for ((_, stack), count) in &self.stacks {
            if let Some(Function::User(file, start)) = stack.first()
                && names.unnamed.contains(&(*file, *start))
            {
                *unnamed.entry(*file).or_default() += count;
            }
        }
        let notable = unnamed.into_iter().filter(|(_, count)| *count as f64 > NOTABLE_SHARE * samples as f64);
        let note = |(file, count): (FileIndex, u64)| {
            format!(
                "{} has no symbols for {:.0} % of the samples: install its debug symbols (on Debian, its -dbgsym package)",
                self.reader.files.get(file).name,
                100.0 * count as f64 / samples as f64
            )
        };
        notable.map(note).collect()
    }
}

/// A note on functions that samples of a timer meet in place of others, if they are many.
fn late_samples<'s>(
    source: SampleSource,
    frames: &[Frame],
    stacks: impl Iterator<Item = &'s StackCount>,
) -> Option<String> {
    let enables = |frame: &Frame| {
        frame.kind == FrameKind::Kernel && ENABLING.iter().any(|name| frame.name.starts_with(name))
    };
    let (mut late, mut all) = (0, 0);
    for stack in stacks {
        all += stack.samples;
        let is_late = stack.frames.last().is_some_and(|innermost| enables(&frames[*innermost as usize]));
        late += if is_late { stack.samples } else { 0 };
    }
    let share = late as f64 / all.max(1) as f64;
    (source == SampleSource::CpuClock && share > NOTABLE_SHARE).then(|| {
        format!(
            "{:.0} % of the samples are where the kernel enables interrupts (_raw_spin_unlock_irqrestore and the like), also for what came before with interrupts off, \
             such as waking a thread on another CPU: a machine with hardware counters tells them apart",
            100.0 * share
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_events::ProcessChange;

    #[test]
    fn a_profile_that_is_too_large_keeps_all_of_its_samples() {
        let mut collector = Collector::new();
        let thread = collector.names.name(1, "nginx");
        let samples = MOST_STACKS as u64 + 10;
        for address in 0..samples {
            collector.add_functions(thread, vec![Function::Kernel(address), Function::Kernel(address + 1)]);
        }
        // A stack that is known is still counted as itself.
        collector.add_functions(thread, vec![Function::Kernel(0), Function::Kernel(1)]);
        assert_eq!(collector.stacks.len(), MOST_STACKS);
        let stacks = collector.finish(Duration::from_secs(1));
        assert_eq!(stacks.samples(), samples + 1);
        assert!(stacks.frames.iter().any(|frame| frame.name == "[other stacks]"));
    }

    #[test]
    fn samples_that_a_timer_takes_late_are_said() {
        let kernel =
            |name: &str| Frame { name: name.into(), module: "kernel".into(), kind: FrameKind::Kernel };
        let frames = [kernel("_raw_spin_unlock_irqrestore"), kernel("tcp_v4_rcv")];
        let stack = |frame, samples| StackCount { frames: vec![1, frame], samples };
        let note = |source, late| late_samples(source, &frames, [stack(0, late), stack(1, 99)].iter());
        assert_eq!(note(SampleSource::CpuClock, 1), None);
        assert_eq!(note(SampleSource::Cycles, 99), None);
        let said = note(SampleSource::CpuClock, 99).expect("half of them are late");
        assert!(said.starts_with("50 % of the samples are where the kernel enables interrupts"), "{said}");
    }

    #[test]
    fn only_processes_of_the_profile_are_counted() {
        let mut collector = Collector::new();
        let sample = |pid| Event::Sample(ThreadSample { pid, tid: pid, kernel: vec![7], user: None });
        collector.belong(&[1]);
        collector.take(sample(2));
        collector.take(Event::Changed(ProcessChange::Forked { pid: 3, parent: 1 }));
        collector.take(Event::Changed(ProcessChange::Forked { pid: 4, parent: 2 }));
        for pid in [1, 3, 4] {
            collector.take(sample(pid));
        }
        assert_eq!(collector.finish(Duration::ZERO).samples(), 2);
    }
}
