//! Stacks of processes: unwound as they come, and named at the end. What a stack stands for is left to samplers.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::address_space::{
    AddressSpace, CodeAddress, CodeFiles, FileIndex, Registers, UnwindCache, UserFrame, UserStack,
};
use super::kernel_symbols::KernelSymbols;
use super::known_callers::KnownCallers;
use super::symbols::Symbols;
use crate::stacks::{Frame, FrameKind};

/// How often the mappings of a process are read again for an address that is in none.
const READ_AGAIN: Duration = Duration::from_secs(1);

/// A function before it has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Function {
    /// In a file, at its start.
    User(FileIndex, u64),
    /// Compiled by a virtual machine, or in a file that cannot be read.
    Anonymous,
    /// In the kernel, at its start; 0 where it is not known.
    Kernel(u64),
}

struct ProcessCode {
    /// None if its memory could not be read.
    space: Option<Rc<AddressSpace>>,
    read: Instant,
}

/// Names of functions.
pub(crate) struct FunctionNames {
    names: HashMap<(FileIndex, u64), String>,
    /// Those without a symbol.
    pub unnamed: HashSet<(FileIndex, u64)>,
}

/// Reads stacks of processes.
pub(crate) struct StackReader {
    pub files: CodeFiles,
    pub kernel: KernelSymbols,
    processes: HashMap<u32, ProcessCode>,
    parents: HashMap<u32, u32>,
    cache: UnwindCache,
    callers: KnownCallers,
}

impl StackReader {
    pub(crate) fn new() -> Self {
        Self {
            files: CodeFiles::default(),
            kernel: KernelSymbols::default(),
            processes: HashMap::new(),
            parents: HashMap::new(),
            cache: UnwindCache::new(),
            callers: KnownCallers::default(),
        }
    }

    /// Reads the code of processes before their first stack, and with `has_kernel` the kernel's functions.
    pub(crate) fn prepare(&mut self, pids: &[u32], has_kernel: bool) {
        if has_kernel {
            self.kernel = KernelSymbols::read();
        }
        for pid in pids {
            self.read_code(*pid);
        }
    }

    /// A process has the code of its parent at first.
    pub(crate) fn forked(&mut self, pid: u32, parent: u32) {
        self.parents.insert(pid, parent);
    }

    /// A process runs another program.
    pub(crate) fn executed(&mut self, pid: u32) {
        self.processes.remove(&pid);
        self.parents.remove(&pid);
    }

    /// Reads the code of a process.
    pub(crate) fn read_code(&mut self, pid: u32) {
        let before = self.processes.remove(&pid).and_then(|code| code.space);
        // A process that has ended had the code of its parent, or what was read before.
        let of_parent = || self.processes.get(self.parents.get(&pid)?)?.space.clone();
        let parent = of_parent();
        let space = AddressSpace::read(pid, &mut self.files).map(Rc::new).or(before).or(parent);
        self.processes.insert(pid, ProcessCode { space, read: Instant::now() });
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

    /// The stack of a thread of a program, from its registers and a copy of its stack. `is_cut` says that the copy ends where a
    /// page was not in memory; its callers are then taken from elsewhere if they can be. None if the memory cannot be read.
    pub(crate) fn user(
        &mut self,
        (pid, tid): (u32, u32),
        registers: Registers,
        copy: &[u8],
        is_cut: bool,
    ) -> Option<UserStack> {
        let space = self.code(pid, registers.instruction)?;
        let mut user = space.unwind(registers, copy, None, &mut self.cache);
        if !user.is_complete {
            if self.complete(tid, &mut user.frames) {
                (user.is_complete, user.is_completed) = (true, true);
            } else if is_cut && let Ok(memory) = File::open(format!("/proc/{pid}/mem")) {
                user = space.unwind(registers, copy, Some(&memory), &mut self.cache);
            }
        }
        if user.is_complete {
            let files = &mut self.files;
            self.callers.learn(tid, &user.frames, &mut |file, address| files.function_start(file, address));
        }
        Some(user)
    }

    /// Adds the callers that other stacks of the thread have, and returns whether there are any.
    pub(crate) fn complete(&mut self, tid: u32, frames: &mut Vec<UserFrame>) -> bool {
        let files = &mut self.files;
        self.callers.complete(tid, frames, &mut |file, address| files.function_start(file, address))
    }

    /// Functions of a program, in the order of the frames.
    pub(crate) fn user_functions(&mut self, frames: &[UserFrame]) -> Vec<Function> {
        let files = &mut self.files;
        let function = |frame: &UserFrame| match frame.address {
            CodeAddress::File(file, address) => Function::User(file, files.function_start(file, address)),
            CodeAddress::Anonymous => Function::Anonymous,
        };
        frames.iter().map(function).collect()
    }

    /// Functions of the kernel, in the order of the addresses: innermost first.
    pub(crate) fn kernel_functions(&self, addresses: &[u64]) -> Vec<Function> {
        let function = |(depth, address): (usize, &u64)| {
            // All but the innermost are return addresses.
            let inside = if depth == 0 { *address } else { address.saturating_sub(1) };
            Function::Kernel(self.kernel.find(inside).map_or(0, |(start, ..)| start))
        };
        addresses.iter().enumerate().map(function).collect()
    }

    /// The names of functions.
    pub(crate) fn names<'f>(&self, functions: impl Iterator<Item = &'f Function>) -> FunctionNames {
        let mut wanted: BTreeMap<FileIndex, BTreeSet<u64>> = BTreeMap::new();
        for function in functions {
            if let Function::User(file, start) = function {
                wanted.entry(*file).or_default().insert(*start);
            }
        }
        let symbols = Symbols::new();
        let mut found = FunctionNames { names: HashMap::new(), unnamed: HashSet::new() };
        for (file, addresses) in wanted {
            let addresses: Vec<u64> = addresses.into_iter().collect();
            let of_file = symbols.find(&self.files, file, &addresses);
            found.names.extend(of_file.names.into_iter().map(|(start, name)| ((file, start), name)));
            found.unnamed.extend(of_file.unnamed.into_iter().map(|start| (file, start)));
        }
        found
    }

    /// A function with its name.
    pub(crate) fn frame(&self, names: &FunctionNames, function: Function) -> Frame {
        match function {
            Function::User(file, start) => {
                let module = self.files.get(file).name.clone();
                let known = names.names.get(&(file, start)).cloned();
                let name = known.unwrap_or_else(|| format!("[{module}+{start:#x}]"));
                Frame { name, module, kind: FrameKind::User }
            }
            Function::Anonymous => {
                Frame { name: "[no file]".to_owned(), module: String::new(), kind: FrameKind::User }
            }
            Function::Kernel(start) => {
                let found = self.kernel.find(start);
                let (name, module) = found.map_or(("[kernel]", "kernel"), |(_, name, module)| (name, module));
                Frame { name: name.to_owned(), module: module.to_owned(), kind: FrameKind::Kernel }
            }
        }
    }
}
