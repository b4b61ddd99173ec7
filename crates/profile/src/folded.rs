//! Folded stacks: a line for each stack, which most tools for flame graphs read.
//!
//! `THREAD;OUTERMOST;…;INNERMOST SAMPLES`, where functions of the kernel end in `_[k]`.

use std::time::Duration;

use thiserror::Error;

use crate::Stacks;

/// Why a text is not a profile.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {reason}: write THREAD;FRAME;… SAMPLES")]
pub struct FoldedError {
    /// Line number, from 1.
    pub line: usize,
    /// What is wrong.
    pub reason: &'static str,
}

/// A profile as folded stacks.
pub fn write(stacks: &Stacks) -> String {
    let _ = stacks;
    String::new()
}

/// Reads folded stacks. The text does not say what a sample stands for; `period` does.
pub fn parse(text: &str, period: Duration) -> Result<Stacks, FoldedError> {
    let _ = (text, period);
    Err(FoldedError { line: 1, reason: "no stack" })
}
