//! Settings of the kernel that variants have: set before a trial's server starts, put back before the next one's.
//! That they are put back whatever happens is `host`'s work.

use std::collections::BTreeSet;

use host::Host;
use host::knobs::{self, Knob, KnobChange, Knobs};
use workload::ServerVariant;

/// The kernel's settings during a run.
pub struct Kernel {
    /// The right to change them; none where no variant does.
    knobs: Option<Knobs>,
    /// All that some variant sets.
    varied: BTreeSet<Knob>,
}

impl Kernel {
    /// Tries every value that a variant will ask for, so that a run ends before its first trial where one cannot be had.
    /// Says what it has put back of what a run that was killed had left.
    pub fn of(host: &Host, variants: &[ServerVariant]) -> Result<(Self, Vec<KnobChange>), knobs::Error> {
        let journal = knobs::default_journal_dir();
        let put_back = host.recover_knobs(&journal)?;
        let varied: BTreeSet<Knob> =
            variants.iter().flat_map(|variant| variant.kernel.keys()).cloned().collect();
        let knobs = if varied.is_empty() { None } else { Some(host.knobs(&journal)?) };
        let mut kernel = Self { knobs, varied };
        variants.iter().try_for_each(|variant| kernel.set(variant))?;
        kernel.restore()?;
        Ok((kernel, put_back))
    }

    /// Puts back what the variant before had, and sets what this one asks for.
    pub fn set(&mut self, variant: &ServerVariant) -> Result<(), knobs::Error> {
        self.restore()?;
        let Some(knobs) = &mut self.knobs else { return Ok(()) };
        variant.kernel.iter().try_for_each(|(knob, value)| knobs.set(knob, value).map(drop))
    }

    /// What all those are now that some variant sets: names and values.
    pub fn values(&self) -> Result<Vec<(String, String)>, knobs::Error> {
        let Some(knobs) = &self.knobs else { return Ok(Vec::new()) };
        self.varied.iter().map(|knob| Ok((knob.to_string(), knobs.get(knob)?))).collect()
    }

    fn restore(&mut self) -> Result<(), knobs::Error> {
        self.knobs.as_mut().map_or(Ok(()), |knobs| knobs.restore().map(drop))
    }
}
