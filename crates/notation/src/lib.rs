//! What everything that people write has in common, in files and on the command line: how a time is written, and what is said about a
//! mistake. What a file or an option means is left to the crates that read it.

pub mod mistakes;
pub mod source_text;
pub mod time;
