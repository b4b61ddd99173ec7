//! Counts samples: unwinds each stack as it comes, and names the functions at the end.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::events::{CpuSample, Event};
use crate::Stacks;
use crate::code::address_space::{AddressSpace, CodeAddress, CodeFiles, FileIndex, UnwindCache, UserFrame};
use crate::code::kernel_symbols::KernelSymbols;
use crate::code::known_callers::KnownCallers;
use crate::code::symbols::Symbols;
use crate::stacks::{Frame, FrameKind, Losses, SampleSource, StacksBuilder};
use crate::thread_names::{current_name, group_name};

/// Most different stacks, about 100 MB. Others are counted as one.
const MOST_STACKS: usize = 100_000;

/// Most stacks that wait for others that they can be completed from.
const MOST_CUT: usize = 10_000;

/// How often the mappings of a process are read again for an address that is in none.
const READ_AGAIN: Duration = Duration::from_secs(1);

/// Share of samples from which on a file without symbols is worth a note.
const NOTABLE_SHARE: f64 = 0.02;

/// A function before it has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Function {
    User(FileIndex, u64),
    /// Compiled by a virtual machine, or in a file that cannot be read.
    Anonymous,
    Kernel(u64),
}

/// A stack that does not reach the start of its thread.
struct CutStack {
    thread: usize,
    tid: u32,
    kernel: Vec<Function>,
    user: Vec<UserFrame>,
}

struct ProcessCode {
    /// None if its memory could not be read.
    space: Option<Rc<AddressSpace>>,
    read: Instant,
}

/// Counts samples of some processes.
pub(super) struct Collector {
    pub has_kernel: bool,
    pub source: SampleSource,
    pub period: Duration,
    /// Bytes of a stack that are copied if all of them are in memory.
    pub stack_bytes: u32,
    pub cost: Duration,
    pub losses: Losses,
    members: HashSet<u32>,
    processes: HashMap<u32, ProcessCode>,
    parents: HashMap<u32, u32>,
    /// Indices of threads' names in `names`.
    threads: HashMap<u32, usize>,
    names: Vec<String>,
    files: CodeFiles,
    kernel: KernelSymbols,
    cache: UnwindCache,
    callers: KnownCallers,
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
            losses: Losses::default(),
            members: HashSet::new(),
            processes: HashMap::new(),
            parents: HashMap::new(),
            threads: HashMap::new(),
            names: Vec::new(),
            files: CodeFiles::default(),
            kernel: KernelSymbols::default(),
            cache: UnwindCache::new(),
            callers: KnownCallers::default(),
            cut: Vec::new(),
            stacks: HashMap::new(),
            others: HashMap::new(),
        }
    }

    /// Reads the code of processes before their first sample.
    pub(super) fn prepare(&mut self, pids: &[u32]) {
        if self.has_kernel {
            self.kernel = KernelSymbols::read();
        }
        self.belong(pids);
        for pid in pids {
            self.read_code(*pid);
        }
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
            Event::Forked { pid, parent } => {
                if self.members.contains(&parent) {
                    self.members.insert(pid);
                    self.parents.insert(pid, parent);
                }
            }
            Event::Executed { pid } => {
                self.processes.remove(&pid);
                self.parents.remove(&pid);
            }
            Event::Named { tid, name } => {
                if self.threads.contains_key(&tid) {
                    self.name_thread(tid, &name);
                }
            }
            Event::Lost(records) => self.losses.lost += records,
        }
    }

    fn count(&mut self, sample: &CpuSample) {
        let thread = self.thread(sample.pid, sample.tid);
        let kernel: Vec<Function> =
            sample.kernel.iter().enumerate().map(|(at, a)| self.kernel_function(at, *a)).collect();
        let Some((registers, copy)) = &sample.user else { return self.add(thread, kernel, &[]) };
        let Some(space) = self.code(sample.pid, registers.instruction) else {
            self.losses.without_stack += 1;
            return self.add(thread, [kernel, vec![Function::Anonymous]].concat(), &[]);
        };
        let mut user = space.unwind(*registers, copy, None, &mut self.cache);
        let files = &mut self.files;
        let mut start_of = |file, address| files.function_start(file, address);
        if !user.is_complete {
            if self.callers.complete(sample.tid, &mut user.frames, &mut start_of) {
                (user.is_complete, user.is_completed) = (true, true);
            } else if copy.len() < self.stack_bytes as usize
                && let Ok(memory) = File::open(format!("/proc/{}/mem", sample.pid))
            {
                user = space.unwind(*registers, copy, Some(&memory), &mut self.cache);
            }
        }
        if user.is_complete {
            self.callers.learn(sample.tid, &user.frames, &mut start_of);
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
            let files = &mut self.files;
            let mut start_of = |file, address| files.function_start(file, address);
            let is_completed = self.callers.complete(cut.tid, &mut cut.user, &mut start_of);
            self.losses.completed += u64::from(is_completed);
            self.losses.incomplete += u64::from(!is_completed);
            self.add(cut.thread, cut.kernel, &cut.user);
        }
    }

    /// Adds a sample: functions of the kernel and then of the program, innermost first.
    fn add(&mut self, thread: usize, kernel: Vec<Function>, user: &[UserFrame]) {
        let mut stack = kernel;
        stack.extend(user.iter().map(|frame| match frame.address {
            CodeAddress::File(file, address) => {
                Function::User(file, self.files.function_start(file, address))
            }
            CodeAddress::Anonymous => Function::Anonymous,
        }));
        let key = (thread, stack);
        if self.stacks.len() < MOST_STACKS || self.stacks.contains_key(&key) {
            *self.stacks.entry(key).or_default() += 1;
        } else {
            *self.others.entry(thread).or_default() += 1;
        }
    }

    /// The function of an address on a kernel stack. All but the innermost are return addresses.
    fn kernel_function(&self, depth: usize, address: u64) -> Function {
        let inside = if depth == 0 { address } else { address.saturating_sub(1) };
        Function::Kernel(self.kernel.find(inside).map_or(0, |(start, ..)| start))
    }

    fn thread(&mut self, pid: u32, tid: u32) -> usize {
        if let Some(known) = self.threads.get(&tid) {
            return *known;
        }
        let name = current_name(pid, tid).or_else(|| current_name(pid, pid));
        self.name_thread(tid, &name.unwrap_or_else(|| "ended thread".to_owned()))
    }

    fn name_thread(&mut self, tid: u32, name: &str) -> usize {
        let name = group_name(name);
        let index = self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        self.threads.insert(tid, index);
        index
    }

    /// The code of a process that runs at this address.
    fn code(&mut self, pid: u32, address: u64) -> Option<Rc<AddressSpace>> {
        let is_current = |code: &ProcessCode| {
            code.space.as_ref().is_some_and(|space| space.knows(address)) || code.read.elapsed() < READ_AGAIN
        };
        if !self.processes.get(&pid).is_some_and(is_current) {
            self.read_code(pid);
        }
        self.processes.get(&pid)?.space.clone()
    }

    fn read_code(&mut self, pid: u32) {
        let before = self.processes.remove(&pid).and_then(|code| code.space);
        // A process that has ended had the code of its parent, or what was read before.
        let of_parent = || self.processes.get(self.parents.get(&pid)?)?.space.clone();
        let parent = of_parent();
        let space = AddressSpace::read(pid, &mut self.files).map(Rc::new).or(before).or(parent);
        self.processes.insert(pid, ProcessCode { space, read: Instant::now() });
    }

    /// The profile.
    pub(super) fn finish(mut self, length: Duration) -> Stacks {
        self.complete_cut();
        let mut notes = Vec::new();
        let names = self.names_of_functions(&mut notes);
        let frame = |function: &Function| match function {
            Function::User(file, start) => {
                let module = self.files.get(*file).name.clone();
                let name =
                    names.get(&(*file, *start)).cloned().unwrap_or_else(|| format!("[{module}+{start:#x}]"));
                Frame { name, module, kind: FrameKind::User }
            }
            Function::Anonymous => {
                Frame { name: "[no file]".to_owned(), module: String::new(), kind: FrameKind::User }
            }
            Function::Kernel(start) => {
                let (name, module) = self
                    .kernel
                    .find(*start)
                    .map_or(("[kernel]", "kernel"), |(_, name, module)| (name, module));
                Frame { name: name.to_owned(), module: module.to_owned(), kind: FrameKind::Kernel }
            }
        };
        let mut builder = StacksBuilder::default();
        for ((thread, stack), samples) in &self.stacks {
            builder.add(&self.names[*thread], stack.iter().rev().map(frame), *samples);
        }
        for (thread, samples) in &self.others {
            builder.add(&self.names[*thread], [Frame::label("[other stacks]")], *samples);
        }
        if self.has_kernel && self.kernel.is_empty() {
            notes.push(
                "functions of the kernel have no names: run as root, or set kernel.kptr_restrict to 0".into(),
            );
        }
        let (frames, threads) = builder.build();
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
        }
    }

    fn names_of_functions(&self, notes: &mut Vec<String>) -> HashMap<(FileIndex, u64), String> {
        let mut wanted: BTreeMap<FileIndex, BTreeSet<u64>> = BTreeMap::new();
        for (_, stack) in self.stacks.keys() {
            for function in stack {
                if let Function::User(file, start) = function {
                    wanted.entry(*file).or_default().insert(*start);
                }
            }
        }
        let samples: u64 = self.stacks.values().sum();
        let symbols = Symbols::new();
        let mut names = HashMap::new();
        for (file, addresses) in wanted {
            let addresses: Vec<u64> = addresses.into_iter().collect();
            let found = symbols.find(&self.files, file, &addresses);
            let is_unnamed = |function: Option<&Function>| match function {
                Some(Function::User(own, start)) => *own == file && found.unnamed.contains(start),
                _ => false,
            };
            let innermost = self.stacks.iter().filter(|((_, stack), _)| is_unnamed(stack.first()));
            let unnamed: u64 = innermost.map(|(_, samples)| samples).sum();
            if unnamed as f64 > NOTABLE_SHARE * samples as f64 {
                let module = &self.files.get(file).name;
                notes.push(format!(
                    "{module} has no symbols for {:.0} % of the samples: install its debug symbols (on Debian, its -dbgsym package)",
                    100.0 * unnamed as f64 / samples as f64
                ));
            }
            names.extend(found.names.into_iter().map(|(start, name)| ((file, start), name)));
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_that_is_too_large_keeps_all_of_its_samples() {
        let mut collector = Collector::new();
        let thread = collector.name_thread(1, "nginx");
        let samples = MOST_STACKS as u64 + 10;
        for address in 0..samples {
            collector.add(thread, vec![Function::Kernel(address), Function::Kernel(address + 1)], &[]);
        }
        // A stack that is known is still counted as itself.
        collector.add(thread, vec![Function::Kernel(0), Function::Kernel(1)], &[]);
        assert_eq!(collector.stacks.len(), MOST_STACKS);
        let stacks = collector.finish(Duration::from_secs(1));
        assert_eq!(stacks.samples(), samples + 1);
        assert!(stacks.frames.iter().any(|frame| frame.name == "[other stacks]"));
    }

    #[test]
    fn only_processes_of_the_profile_are_counted() {
        let mut collector = Collector::new();
        let sample = |pid| Event::Sample(CpuSample { pid, tid: pid, kernel: vec![7], user: None });
        collector.belong(&[1]);
        collector.take(sample(2));
        collector.take(Event::Forked { pid: 3, parent: 1 });
        collector.take(Event::Forked { pid: 4, parent: 2 });
        for pid in [1, 3, 4] {
            collector.take(sample(pid));
        }
        assert_eq!(collector.finish(Duration::ZERO).samples(), 2);
    }
}
