//! Kernel settings of the variants: applied before a trial's server starts, restored before the next one's.
//! `host` restores them when the process is killed.

use std::collections::BTreeSet;

use host::Host;
use host::knobs::{self, Knob, KnobChange, Knobs};
use workload::ServerVariant;

/// The kernel settings during a run.
pub struct KernelSettings {
    /// The right to change them; none where no variant has a kernel setting.
    knobs: Option<Knobs>,
    /// The settings that some variant has.
    varied: BTreeSet<Knob>,
}

impl KernelSettings {
    /// Tries every value of every variant, so that a run with an impossible one ends before its first trial. Also
    /// returns what it has restored after a killed run.
    pub fn of(host: &Host, variants: &[ServerVariant]) -> Result<(Self, Vec<KnobChange>), knobs::Error> {
        let journal = knobs::default_journal_dir();
        let restored = host.recover_knobs(&journal)?;
        let varied: BTreeSet<Knob> =
            variants.iter().flat_map(|variant| variant.kernel.keys()).cloned().collect();
        let knobs = if varied.is_empty() { None } else { Some(host.knobs(&journal)?) };
        let mut settings = Self { knobs, varied };
        variants.iter().try_for_each(|variant| settings.apply(variant))?;
        settings.restore()?;
        Ok((settings, restored))
    }

    /// Restores the settings of the variant before, then applies those of this one.
    pub fn apply(&mut self, variant: &ServerVariant) -> Result<(), knobs::Error> {
        self.restore()?;
        let Some(knobs) = &mut self.knobs else { return Ok(()) };
        variant.kernel.iter().try_for_each(|(knob, value)| knobs.set(knob, value).map(drop))
    }

    /// Names and current values of the settings that some variant has.
    pub fn values(&self) -> Result<Vec<(String, String)>, knobs::Error> {
        let Some(knobs) = &self.knobs else { return Ok(Vec::new()) };
        self.varied.iter().map(|knob| Ok((knob.to_string(), knobs.get(knob)?))).collect()
    }

    fn restore(&mut self) -> Result<(), knobs::Error> {
        self.knobs.as_mut().map_or(Ok(()), |knobs| knobs.restore().map(drop))
    }
}
