//! Kernel settings of the variants: applied before a trial's server starts, restored before the next one's.
//! `host` restores them when the process is killed.

use std::collections::BTreeSet;
use std::path::PathBuf;

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
    /// `journal` is the directory of the journal.
    ///
    /// A setting that a killed run left and that cannot be restored is an event. It is an error only if a variant
    /// has this setting.
    pub fn of(
        host: &Host,
        journal: Result<PathBuf, knobs::Error>,
        variants: &[ServerVariant],
        observe: &mut Observer<'_>,
    ) -> Result<Self, knobs::Error> {
        let varied: BTreeSet<Knob> =
            variants.iter().flat_map(|variant| variant.kernel.keys()).cloned().collect();
        let (knobs, restored, failures) = if varied.is_empty() {
            let restoration = journal.and_then(|journal| host.recover_knobs(&journal));
            let restoration = restoration.unwrap_or_else(|error| {
                observe(Event::KernelSettingNotRestored { problem: error.to_string() });
                knobs::Restoration::default()
            });
            (None, restoration.changes, restoration.failures)
        } else {
            let (knobs, restored) = host.knobs(&journal?)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::fs;

    const SWAPPINESS: &str = "vm.swappiness";

    /// An invented machine whose killed run left a setting that cannot be restored: the file is a directory.
    fn machine() -> std::io::Result<tempfile::TempDir> {
        let root = tempfile::tempdir()?;
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap_or(root.path()))?;
            fs::write(path, text)
        };
        fs::create_dir_all(root.path().join("proc/sys/vm/swappiness"))?;
        write("proc/sys/kernel/random/boot_id", "first\n")?;
        write("proc/sys/net/core/somaxconn", "1\n")?;
        let entry = |knob: &str, old: &str| {
            format!(r#"{{"changing":{{"knob":"{knob}","old":"{old}","boot_id":"first"}}}}"#)
        };
        let journal = [entry(SWAPPINESS, "60"), entry("net.core.somaxconn", "4096")].join("\n");
        write("journal/knobs.journal", &journal)?;
        Ok(root)
    }

    /// Begins a run with this kernel setting on the machine; returns the events.
    fn begin(root: &tempfile::TempDir, setting: Option<&str>) -> (Result<(), String>, Vec<Event>) {
        let kernel = setting.map(|name| (name.parse().expect("the name of a setting"), "1".to_owned()));
        let variant = ServerVariant {
            server: "x".into(),
            knobs: BTreeMap::default(),
            kernel: kernel.into_iter().collect(),
        };
        let host = Host::below(root.path(), "/no/such/keeper");
        let mut events = Vec::new();
        let journal = Ok(root.path().join("journal"));
        let begun = KernelSettings::of(&host, journal, &[variant], &mut |event| events.push(event));
        (begun.map(drop).map_err(|error| error.to_string()), events)
    }

    #[test]
    fn a_setting_that_cannot_be_restored_stops_only_a_run_that_has_it() -> std::io::Result<()> {
        let problem = "kernel setting vm.swappiness is not restored to 60: ";
        let is_note = |event: &Event| matches!(event, Event::KernelSettingNotRestored { problem: text } if text.starts_with(problem));

        let root = machine()?;
        let (begun, events) = begin(&root, None);
        assert_eq!(begun, Ok(()), "a run that sets nothing goes on");
        assert!(
            matches!(&events[0], Event::KernelSettingRestored { value, .. } if value == "4096"),
            "{events:?}"
        );
        assert!(events.iter().any(is_note), "{events:?}");
        // The other setting has its value already, so nothing is set and no keeper is needed.
        fs::write(root.path().join("proc/sys/net/core/somaxconn"), "1\n")?;
        let (begun, events) = begin(&root, Some("net.core.somaxconn"));
        assert_eq!(begun, Ok(()), "a run with another setting goes on");
        assert!(events.iter().any(is_note), "{events:?}");
        let (begun, _) = begin(&root, Some(SWAPPINESS));
        assert!(begun.as_ref().is_err_and(|error| error.starts_with(problem)), "{begun:?}");
        Ok(())
    }
}
