//! The files that telemetry is read from, one module for each subject.
//!
//! A source is a function that reads its files and says what it found. It keeps nothing from one reading
//! to the next, and says nothing about what it cannot read.

mod cpu;
mod disks;
mod frequency;
mod memory;
mod network;
mod pressure;
mod processes;
mod programs;
mod tcp;

use super::readings::Readings;
use crate::courtesy::Courtesy;
use crate::process::Processes;
use crate::root::Root;

pub(super) use processes::read as read_processes;
pub(super) use programs::is_program;

/// Reads all but the servers' processes.
pub(super) fn read(root: &Root, processes: &Processes, out: &mut Readings) {
    let courtesy = Courtesy::new();
    for source in
        [cpu::read, frequency::read, pressure::read, memory::read, network::read, tcp::read, disks::read]
    {
        courtesy.give_way();
        source(root, out);
    }
    programs::read(processes, out);
}
