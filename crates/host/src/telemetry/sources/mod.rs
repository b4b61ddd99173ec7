//! The sources of telemetry, one module for each subject.
//!
//! A source is a function that reads its files and adds values. It keeps no state between readings, and adds
//! nothing for files that it cannot read.

mod cpu;
mod disks;
mod frequency;
mod memory;
mod network;
mod pressure;
mod processes;
mod programs;
mod tcp;

use super::others::Sides;
use super::readings::Readings;
use crate::root::Root;
use crate::scheduling::PeriodicYield;

pub use processes::SampledServer;
pub(super) use processes::read as read_processes;

/// Reads all sources except the servers' processes. `used` is what programs have used since the first reading.
pub(super) fn read(root: &Root, used: Sides, out: &mut Readings) {
    let periodic_yield = PeriodicYield::new();
    for source in
        [cpu::read, frequency::read, pressure::read, memory::read, network::read, tcp::read, disks::read]
    {
        periodic_yield.yield_if_due();
        source(root, out);
    }
    programs::read(used, out);
}
