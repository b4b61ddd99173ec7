//! A server that takes turns: its load, the kernel settings that it has meanwhile, and what it has measured so far.

use std::time::Duration;

use host::knobs::KnobValues;
use load::slices::{DrawnSlice, Slice};
use load::spec::Shape;
use machine::Machine;

use super::load_phases::LoadPhases;
use super::measurement::TrialMeasurement;
use super::setup::TrialError;
use crate::event::Observer;
use crate::search_start::SearchStart;

/// The kernel settings of a server, which servers that are up together have in turns.
#[derive(Clone, Copy)]
pub struct KernelTurn<'s> {
    /// Its machine.
    pub machine: &'s dyn Machine,
    /// The settings.
    pub settings: &'s KnobValues,
}

impl KernelTurn<'_> {
    /// Gives the machine the settings of this server, in place of the settings of the server before.
    pub fn begin(self) -> Result<(), TrialError> {
        Ok(self.machine.set_kernel_settings(self.settings)?)
    }
}

/// A server that takes turns.
pub struct InterleavedTrial<'s, 'a> {
    /// Its load.
    pub loads: &'s mut LoadPhases<'a>,
    /// Its kernel settings; none where no other server is up, which could have others.
    pub settings: Option<KernelTurn<'s>>,
    /// What it has measured.
    pub result: &'s mut TrialMeasurement,
    /// Its rate at this point of a sweep over rates.
    pub rate: Option<f64>,
    /// What earlier trials say of it.
    pub search_start: Option<SearchStart>,
    /// Why it takes no further turns.
    pub failed: Option<TrialError>,
}

impl InterleavedTrial<'_, '_> {
    /// Runs a slice. With `due_before` it is one of a continuous load in the server's own time, whose operations have fallen due
    /// for this long while the slice before drained. None if the server has failed, or the user interrupts.
    pub fn slice(
        &mut self,
        shape: Shape,
        due_before: Option<Duration>,
        drawn: &DrawnSlice,
        observe: &mut Observer<'_>,
    ) -> Option<Slice> {
        if self.failed.is_some() {
            return None;
        }
        let slice = self.begin_turn().and_then(|()| match due_before {
            Some(due_before) => self.loads.slice_in_own_time(shape, due_before, drawn, observe),
            None => self.loads.slice(shape, drawn, observe),
        });
        match slice {
            Ok(_) if self.loads.interrupted => None,
            Ok(slice) => {
                self.result.count_slice(&slice);
                Some(slice)
            }
            Err(error) => {
                self.failed = Some(error);
                None
            }
        }
    }

    /// Closes its connections and opens others. A server that has failed has none.
    pub fn reconnect(&mut self) {
        if self.failed.is_none() {
            let opened = self.begin_turn().and_then(|()| Ok(self.loads.reconnect()?));
            self.failed = opened.err();
        }
    }

    fn begin_turn(&self) -> Result<(), TrialError> {
        self.settings.map_or(Ok(()), KernelTurn::begin)
    }
}
