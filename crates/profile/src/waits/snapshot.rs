//! The stack of a thread that waits now, from `/proc`: for long waits, and where the kernel gives no records of switches.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use super::stack_table::WaitingStack;
use crate::code::address_space::Registers;
use crate::code::stack_reader::{Function, StackReader};
use crate::threads::read::{self, ThreadState};
use crate::threads::{WaitKind, waits::Call};

/// Bytes of a stack that are read.
const STACK: usize = 32 << 10;

/// Frame pointers that are tried where a function needs one.
const MOST_GUESSES: usize = 32;

/// No function has more on its stack.
const LARGEST_FRAME: u64 = 1 << 20;

/// Reads stacks of waiting threads.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    /// Addresses of the kernel's functions by name: `/proc/PID/task/TID/stack` has names.
    kernel: HashMap<String, Option<u64>>,
    /// Threads of which this user may not read the stack.
    pub refused: bool,
}

impl Snapshots {
    /// The stack of a thread. None if it runs, or has run meanwhile, or has ended.
    pub(super) fn read(&mut self, pid: u32, tid: u32, reader: &mut StackReader) -> Option<WaitingStack> {
        let ThreadState::Waits { call, is_uninterruptible, .. } = read::state(pid, tid)? else { return None };
        let Some(before) = where_it_waits(pid, tid) else {
            self.refused = true;
            return Some(WaitingStack { kind: Some(WaitKind::Unknown), functions: Vec::new(), depth: None });
        };
        let mut functions = self.kernel_functions(pid, tid, reader);
        let user = user_stack(pid, tid, &before, reader);
        // A thread that waits elsewhere now may have changed its stack while it was read.
        if where_it_waits(pid, tid)? != before {
            return None;
        }
        let depth = user.as_ref().filter(|(_, is_complete)| *is_complete).map(|(user, _)| user.len());
        self.refused |= user.is_none();
        functions.extend(user.into_iter().flat_map(|(user, _)| user));
        let target = |descriptor| read::descriptor_target(pid, descriptor);
        let kind = call.map_or(WaitKind::Unknown, |call| Call::kind(call, is_uninterruptible, target));
        Some(WaitingStack { kind: Some(kind), functions, depth })
    }

    /// Innermost first; none where this user may not see them.
    fn kernel_functions(&mut self, pid: u32, tid: u32, reader: &StackReader) -> Vec<Function> {
        if reader.kernel.is_empty() {
            return Vec::new();
        }
        let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/stack")).unwrap_or_default();
        let names = text.lines().filter_map(kernel_function);
        let addresses = names.filter_map(|name| {
            if let Some(known) = self.kernel.get(name) {
                return *known;
            }
            let address = reader.kernel.address_of(name);
            self.kernel.insert(name.to_owned(), address);
            address
        });
        addresses.map(Function::Kernel).collect()
    }
}

/// `[<0>] futex_do_wait+0x46/0x70 [module]`.
fn kernel_function(line: &str) -> Option<&str> {
    line.split_once("] ")?.1.split('+').next().filter(|name| !name.is_empty())
}

/// The text of `/proc/PID/task/TID/syscall`, which ends in the stack pointer and the instruction. None if it runs, or if this
/// user may not see it.
fn where_it_waits(pid: u32, tid: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).ok()?;
    pointers(&text).map(|_| text)
}

/// Stack pointer and instruction.
fn pointers(text: &str) -> Option<(u64, u64)> {
    let hexadecimal = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let mut words = text.split_ascii_whitespace().rev();
    let (instruction, stack) = (hexadecimal(words.next()?)?, hexadecimal(words.next()?)?);
    Some((stack, instruction))
}

/// The program's functions, innermost first, and whether they reach the start of the thread.
fn user_stack(pid: u32, tid: u32, place: &str, reader: &mut StackReader) -> Option<(Vec<Function>, bool)> {
    let (stack, instruction) = pointers(place)?;
    let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
    let mut copy = vec![0; STACK];
    let length = memory.read_at(&mut copy, stack).ok()?;
    copy.truncate(length);
    let mut with_frame = |frame| {
        let registers = Registers { instruction, stack, frame, link: 0 };
        reader.user((pid, tid), registers, &copy, false)
    };
    // The frame pointer is not known, and most functions do not need it. An address at which nothing is ends the stack there.
    let mut user = with_frame(1)?;
    if !user.is_complete {
        let longer = frame_pointers(stack, &copy)
            .take(MOST_GUESSES)
            .find_map(|frame| with_frame(frame).filter(|guessed| guessed.is_complete));
        user = longer.unwrap_or(user);
    }
    Some((reader.user_functions(&user.frames), user.is_complete))
}

/// Places on a stack that can be frames of functions: each has the address of a frame farther out.
fn frame_pointers(stack: u64, copy: &[u8]) -> impl Iterator<Item = u64> {
    copy.as_chunks::<8>().0.iter().enumerate().filter_map(move |(at, bytes)| {
        let (place, value) = (stack + 8 * at as u64, u64::from_ne_bytes(*bytes));
        (value > place && value - place < LARGEST_FRAME && value.is_multiple_of(8)).then_some(place)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_have_names_and_places() {
        assert_eq!(kernel_function("[<0>] futex_do_wait+0x46/0x70"), Some("futex_do_wait"));
        assert_eq!(kernel_function("[<0>] nf_hook+0x1/0x2 [nf_tables]"), Some("nf_hook"));
        assert_eq!(kernel_function(""), None);
        let text = "202 0x7f 0x189 0x0 0x0 0x0 0xffffffff 0x7ffd10 0x7f0020\n";
        assert_eq!(pointers(text), Some((0x7f_fd10, 0x7f_0020)));
        assert_eq!(pointers("-1 0x7ffd10 0x7f0020"), Some((0x7f_fd10, 0x7f_0020)));
        assert_eq!(pointers("running"), None);
    }

    #[test]
    fn a_thread_that_runs_has_no_stack() {
        let own = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        assert_eq!(Snapshots::default().read(std::process::id(), own, &mut StackReader::new()), None);
    }

    #[test]
    fn the_stack_of_a_waiting_thread_is_read() {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let (started, has_started) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let tid = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
            started.send(tid).expect("the test waits");
            // It ends when the test does.
            let _ = stopped.recv();
        });
        let tid = has_started.recv().expect("it has started");
        let (mut snapshots, mut reader) = (Snapshots::default(), StackReader::new());
        let stack = loop {
            if let Some(stack) = snapshots.read(std::process::id(), tid, &mut reader) {
                break stack;
            }
        };
        drop(stop);
        thread.join().expect("it ends");
        // A container may hide system calls even of this process.
        if !snapshots.refused {
            assert_eq!(stack.kind, Some(WaitKind::Futex));
            assert!(stack.depth.is_some_and(|depth| depth > 1), "{stack:?}");
        }
    }
}
