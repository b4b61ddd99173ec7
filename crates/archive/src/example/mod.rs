//! Made-up runs, to build, test and time readers of the archive without servers.
//!
//! The archive's own writer writes them, with numbers from a simple model of a queue. They have the tag `made-up` and a
//! caveat that says so. The feature `example` enables this module; no release contains it.

mod common;
mod comparison;
mod explanation;
mod facts;
mod power;
mod requests;
mod server;
mod sweep;
mod telemetry;
mod trial;
mod waits;

use crate::{error::Result, id::RunId};
use std::{
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Writes a comparison of two servers under `root`: `blocks` blocks of two trials, one of them invalid, with
/// telemetry and configurations.
pub fn comparison(root: &Path, blocks: u32) -> Result<RunId> {
    comparison::write(root, blocks, started(0))
}

/// Writes a comparison whose trials have watts of two meters at these shares of their value, and in active idle. From trial
/// `lost_from` on, the meter at the wall gives nothing.
pub fn metered_comparison(root: &Path, blocks: u32, shares: &[f64], lost_from: Option<u32>) -> Result<RunId> {
    let id = comparison(root, blocks)?;
    power::add(&root.join(id.as_str()), shares, lost_from)?;
    Ok(id)
}

/// Writes a sweep of one server over threads and connections.
pub fn sweep(root: &Path) -> Result<RunId> {
    sweep::write(root, started(3600))
}

/// Writes an explanation of two servers, with their profiles and the difference of these.
pub fn explanation(root: &Path) -> Result<RunId> {
    explanation::write(root, started(7200))
}

/// Writes run number `number` of many, for the index. Its verdict is complete; its trials have no files.
pub fn one_of_many(root: &Path, number: u32) -> Result<RunId> {
    comparison::write_small(root, number, started(u64::from(number) * 900))
}

/// 2026-11-21 00:51:39 UTC and some seconds later.
fn started(seconds_later: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_795_222_299 + seconds_later)
}
