//! A server that takes turns: its load, and what it has measured so far.

use load::slices::{DrawnSlice, Slice};
use load::spec::Shape;

use super::load_phases::LoadPhases;
use super::measurement::TrialMeasurement;
use super::setup::TrialError;
use crate::event::Observer;
use crate::hint::Hint;

/// A server that takes turns.
pub struct TurnTaker<'s, 'a> {
    /// Its load.
    pub loads: &'s mut LoadPhases<'a>,
    /// What it has measured.
    pub result: &'s mut TrialMeasurement,
    /// Its rate at this point of a sweep over rates.
    pub rate: Option<f64>,
    /// Where its search begins.
    pub hint: Option<Hint>,
    /// Why it takes no further turns.
    pub failed: Option<TrialError>,
}

impl TurnTaker<'_, '_> {
    /// Runs a slice. None if the server has failed, or the user interrupts.
    pub fn slice(&mut self, shape: Shape, drawn: &DrawnSlice, observe: &mut Observer<'_>) -> Option<Slice> {
        if self.failed.is_some() {
            return None;
        }
        match self.loads.slice(shape, drawn, observe) {
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
}
