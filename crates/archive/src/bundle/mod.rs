//! A run as one file, to copy it to another machine: a gzipped tar of its directory, which any `tar` opens.

mod bounded;
mod export;
mod import;

pub(crate) use export::export;
pub(crate) use import::import;
