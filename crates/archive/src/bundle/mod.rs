//! A run as one file, to copy it to another machine: a gzipped tar of its directory, which any `tar` opens.

mod anonymous;
mod bounded;
mod export;
mod import;

pub use anonymous::{AnonymousRun, Identity};
pub(crate) use export::export;
pub(crate) use import::import;
