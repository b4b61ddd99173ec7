//! Kernel settings of the variants: applied before a trial's server starts, restored before the next one's.
//! `host` restores them when the process is killed.

use std::collections::BTreeSet;

use host::Host;
use host::knobs::{self, Knob, Knobs};
use workload::ServerVariant;

use crate::event::{Event, Observer};

/// The kernel settings during a run.
pub struct KernelSettings {
    /// The right to change them; none where no variant has a kernel setting.
    knobs: Option<Knobs>,
    /// The settings that some variant has.
    varied: BTreeSet<Knob>,
}

impl KernelSettings {
    /// Restores what a killed run left, and tries every value of every variant, so that a run with an impossible one
    /// ends before its first trial.
    ///
    /// A setting that a killed run left and that cannot be restored is an event. It is an error only if a variant
    /// has this setting.
    pub fn of(
        host: &Host,
        variants: &[ServerVariant],
        observe: &mut Observer<'_>,
    ) -> Result<Self, knobs::Error> {
        let varied: BTreeSet<Knob> =
            variants.iter().flat_map(|variant| variant.kernel.keys()).cloned().collect();
        let (knobs, restored, failures) = if varied.is_empty() {
            let restoration = knobs::default_journal_dir().and_then(|journal| host.recover_knobs(&journal));
            let restoration = restoration.unwrap_or_else(|error| {
                observe(Event::KernelSettingNotRestored { problem: error.to_string() });
                knobs::Restoration::default()
            });
            (None, restoration.changes, restoration.failures)
        } else {
            let (knobs, restored) = host.knobs(&knobs::default_journal_dir()?)?;
            let failures = knobs.left_behind().to_vec();
            (Some(knobs), restored, failures)
        };
        for change in restored {
            observe(Event::KernelSettingRestored { setting: change.knob.to_string(), value: change.to });
        }
        for failure in failures {
            observe(Event::KernelSettingNotRestored { problem: failure.to_string() });
        }
        let mut settings = Self { knobs, varied };
        variants.iter().try_for_each(|variant| settings.apply(variant))?;
        settings.restore()?;
        Ok(settings)
    }

    /// Restores the settings of the variant before, then applies those of this one.
    pub fn apply(&mut self, variant: &ServerVariant) -> Result<(), knobs::Error> {
        self.restore()?;
        self.knobs.as_mut().map_or(Ok(()), |knobs| knobs.set_all(&variant.kernel))
    }

    /// Names and current values of the settings that some variant has.
    pub fn values(&self) -> Result<Vec<(String, String)>, knobs::Error> {
        let Some(knobs) = &self.knobs else { return Ok(Vec::new()) };
        self.varied.iter().map(|knob| Ok((knob.to_string(), knobs.get(knob)?))).collect()
    }

    /// Restores all settings at the end of the run. Returns what could not be restored, one sentence each.
    pub fn finish(mut self) -> Vec<String> {
        let Some(knobs) = &mut self.knobs else { return Vec::new() };
        match knobs.restore() {
            Ok(restoration) => restoration.failures.iter().map(ToString::to_string).collect(),
            Err(error) => vec![error.to_string()],
        }
    }

    fn restore(&mut self) -> Result<(), knobs::Error> {
        let Some(knobs) = &mut self.knobs else { return Ok(()) };
        let failure = knobs.restore()?.failures.into_iter().next();
        failure.map_or(Ok(()), |failure| Err(knobs::Error::NotRestored(failure)))
    }
}
