//! Verbs for the shell: completions and manual pages.

pub mod completions;
pub mod man;
pub mod mcp;
