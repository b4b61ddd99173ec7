//! What a command says while it works: a bar for people, JSON lines for programs, or nothing.

pub mod bakeoff_progress;
pub mod bar;
pub mod event_stream;
#[cfg(test)]
pub mod formats_page;
pub mod hosts_progress;
pub mod line_progress;
pub mod load_progress;
pub mod population_progress;
pub mod run_progress;
pub mod search_progress;
