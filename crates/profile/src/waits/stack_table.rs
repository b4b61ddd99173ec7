//! The stacks of waits, each once, before their functions have names.

use indexmap::IndexSet;

use crate::code::stack_reader::Function;
use crate::threads::WaitKind;

/// Most different stacks. Others are one.
const MOST_STACKS: usize = 50_000;

/// The place of a stack in a [`StackTable`].
pub(super) type StackId = u32;

/// The stack of a thread that waits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct WaitingStack {
    /// From its system call. None where the kernel's functions tell.
    pub kind: Option<WaitKind>,
    /// Innermost first: the kernel's and then the program's.
    pub functions: Vec<Function>,
    /// The program's functions, if they reach the start of the thread.
    pub depth: Option<usize>,
}

/// Stacks, each once.
#[derive(Debug)]
pub(super) struct StackTable(IndexSet<WaitingStack>);

impl StackTable {
    /// With the stack that stands for those that are too many.
    pub(super) fn new() -> Self {
        let others = WaitingStack { kind: Some(WaitKind::Unknown), functions: Vec::new(), depth: None };
        Self(IndexSet::from([others]))
    }

    pub(super) fn id(&mut self, stack: WaitingStack) -> StackId {
        if self.0.len() >= MOST_STACKS {
            return self.0.get_index_of(&stack).unwrap_or(0) as StackId;
        }
        self.0.insert_full(stack).0 as StackId
    }

    pub(super) fn get(&self, id: StackId) -> &WaitingStack {
        &self.0[id as usize]
    }

    /// All stacks, in the order of their places.
    pub(super) fn all(&self) -> impl Iterator<Item = &WaitingStack> {
        self.0.iter()
    }

    /// All functions.
    pub(super) fn functions(&self) -> impl Iterator<Item = &Function> {
        self.0.iter().flat_map(|stack| &stack.functions)
    }
}
