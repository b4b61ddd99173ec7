//! Completes stacks that end before the start of their thread, from other stacks of the same thread.
//!
//! The kernel ends the copy of a stack at a page that is not in memory, such as one of a large buffer that was never used. But a
//! thread of a server comes by the same way again and again. Where another sample of it had the same function at the same
//! stack pointer, the callers are taken to be the same.

use std::collections::HashMap;

use super::address_space::{CodeAddress, FileIndex, UserFrame};

/// Most frames that are known. Servers have some hundreds for each thread.
const MOST_KNOWN: usize = 200_000;

/// A function on a thread's stack.
type Place = (u32, u64, FileIndex, u64);

/// Callers of functions, by place.
#[derive(Debug, Default)]
pub(crate) struct KnownCallers(HashMap<Place, UserFrame>);

impl KnownCallers {
    /// Learns from a stack that reaches the start of its thread.
    pub(crate) fn learn(
        &mut self,
        tid: u32,
        frames: &[UserFrame],
        start_of: &mut impl FnMut(FileIndex, u64) -> u64,
    ) {
        for pair in frames.windows(2) {
            if self.0.len() >= MOST_KNOWN {
                return;
            }
            if let Some(place) = place(tid, pair[0], start_of) {
                self.0.insert(place, pair[1]);
            }
        }
    }

    /// Adds the callers of the outermost function whose callers are known, and returns whether there is one. What lay
    /// outside of it in the stack is dropped.
    pub(crate) fn complete(
        &self,
        tid: u32,
        frames: &mut Vec<UserFrame>,
        start_of: &mut impl FnMut(FileIndex, u64) -> u64,
    ) -> bool {
        for at in (0..frames.len()).rev() {
            let mut callers = Vec::new();
            let mut frame = frames[at];
            // Stack pointers rise towards the start, so that this ends.
            while let Some(caller) = place(tid, frame, start_of).and_then(|place| self.0.get(&place)) {
                if caller.stack_pointer <= frame.stack_pointer {
                    break;
                }
                callers.push(*caller);
                frame = *caller;
            }
            if !callers.is_empty() {
                frames.truncate(at + 1);
                frames.extend(callers);
                return true;
            }
        }
        false
    }
}

fn place(tid: u32, frame: UserFrame, start_of: &mut impl FnMut(FileIndex, u64) -> u64) -> Option<Place> {
    match frame.address {
        CodeAddress::File(file, address) => Some((tid, frame.stack_pointer, file, start_of(file, address))),
        CodeAddress::Anonymous => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(address: u64, stack_pointer: u64) -> UserFrame {
        UserFrame { address: CodeAddress::File(0, address), stack_pointer }
    }

    /// Functions begin at multiples of 100.
    fn start(_: FileIndex, address: u64) -> u64 {
        address / 100 * 100
    }

    #[test]
    fn a_cut_stack_gets_the_callers_of_the_same_place() {
        let mut known = KnownCallers::default();
        known.learn(1, &[frame(105, 10), frame(230, 20), frame(340, 30), frame(420, 40)], &mut start);
        let mut cut = vec![frame(510, 8), frame(199, 10)];
        assert!(known.complete(1, &mut cut, &mut start));
        assert_eq!(cut, [frame(510, 8), frame(199, 10), frame(230, 20), frame(340, 30), frame(420, 40)]);
    }

    #[test]
    fn another_thread_function_or_depth_is_another_place() {
        let mut known = KnownCallers::default();
        known.learn(1, &[frame(105, 10), frame(230, 20)], &mut start);
        for (tid, other) in [(2, frame(105, 10)), (1, frame(205, 10)), (1, frame(105, 11))] {
            let mut cut = vec![other];
            assert!(!known.complete(tid, &mut cut, &mut start));
            assert_eq!(cut, [other]);
        }
    }

    #[test]
    fn a_wrong_outermost_frame_is_dropped() {
        let mut known = KnownCallers::default();
        known.learn(1, &[frame(105, 10), frame(230, 20)], &mut start);
        let mut cut = vec![frame(105, 10), UserFrame { address: CodeAddress::Anonymous, stack_pointer: 15 }];
        assert!(known.complete(1, &mut cut, &mut start));
        assert_eq!(cut, [frame(105, 10), frame(230, 20)]);
    }
}
