//! Machines whose kernel settings a run may change. However the run ends, they are put back.

use host::knobs::KnobValues;
use machine::{LeftSettings, Machine, MachineError};

/// Machines that are prepared for servers. Dropping it puts their kernel settings back; [`close`](Self::close) says what could not be.
#[derive(Default)]
pub struct PreparedMachines<'m>(Vec<&'m dyn Machine>);

impl<'m> PreparedMachines<'m> {
    /// Restores what a killed run left on a machine, and takes the right to change the settings of these variants.
    pub fn open(
        &mut self,
        machine: &'m dyn Machine,
        variants: &[KnobValues],
    ) -> Result<LeftSettings, MachineError> {
        // Also where this fails: a part of it may be done.
        self.0.push(machine);
        machine.open_kernel_settings(variants)
    }

    /// Puts the settings back. Returns what could not be restored, one sentence each.
    pub fn close(mut self) -> Vec<String> {
        self.restore()
    }

    fn restore(&mut self) -> Vec<String> {
        self.0.drain(..).flat_map(Machine::close_kernel_settings).collect()
    }
}

impl Drop for PreparedMachines<'_> {
    fn drop(&mut self) {
        self.restore();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scripted_machine::{LostAt, ScriptedMachine, UNRESTORED};

    fn closed(machine: &ScriptedMachine) -> u32 {
        machine.log.lock().expect("no thread panics with it").closed
    }

    #[test]
    fn settings_are_put_back_once_by_closing_or_by_dropping() -> Result<(), Box<dyn std::error::Error>> {
        let [first, second] = [LostAt::Nowhere, LostAt::Nowhere].map(ScriptedMachine::lost_at);
        let (first, second) = (first?, second?);
        let mut prepared = PreparedMachines::default();
        prepared.open(&first, &[])?;
        prepared.open(&second, &[])?;
        assert_eq!(prepared.close(), [UNRESTORED, UNRESTORED]);
        assert_eq!([closed(&first), closed(&second)], [1, 1]);
        let mut prepared = PreparedMachines::default();
        prepared.open(&first, &[])?;
        drop(prepared);
        assert_eq!([closed(&first), closed(&second)], [2, 1]);
        Ok(())
    }
}
