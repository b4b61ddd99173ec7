//! Kernel settings of the variants: applied before a server starts, and before each of its loads where others are up; restored
//! before those of the next one. `host` restores them when the process is killed.

use std::collections::BTreeSet;
use std::path::PathBuf;

use host::Host;
use host::knobs::{self, Knob, KnobValues, Knobs};

use crate::interface::machine::LeftSettings;

/// The kernel settings during a run.
#[derive(Debug)]
pub struct KernelSettings {
    /// The right to change them; none where no variant has a kernel setting.
    knobs: Option<Knobs>,
    /// The settings that some variant has.
    varied: BTreeSet<Knob>,
    /// What is applied now; none where that is not known.
    applied: Option<KnobValues>,
}

impl KernelSettings {
    /// Restores what a killed run left.
    ///
    /// `journal` is the directory of the journal.
    ///
    /// A setting that a killed run left and that cannot be restored is an error only if a variant has this setting.
    pub fn open(
        host: &Host,
        journal: Result<PathBuf, knobs::Error>,
        variants: &[KnobValues],
    ) -> Result<(Self, LeftSettings), knobs::Error> {
        let varied: BTreeSet<Knob> = variants.iter().flat_map(|settings| settings.keys()).cloned().collect();
        if varied.is_empty() {
            let left = match journal.and_then(|journal| host.recover_knobs(&journal)) {
                Ok(restoration) => left_settings(restoration.changes, &restoration.failures),
                // Whoever has the journal has restored what was left in it: another name of this machine in the run.
                Err(knobs::Error::Busy { .. }) => LeftSettings::default(),
                Err(error) => LeftSettings { problems: vec![error.to_string()], ..LeftSettings::default() },
            };
            return Ok((Self { knobs: None, varied, applied: None }, left));
        }
        let (knobs, restored) = host.knobs(&journal?)?;
        let left = left_settings(restored, knobs.left_behind());
        Ok((Self { knobs: Some(knobs), varied, applied: None }, left))
    }

    /// Tries every value of these variants.
    pub fn try_all(&mut self, variants: &[KnobValues]) -> Result<(), knobs::Error> {
        variants.iter().try_for_each(|settings| self.apply(settings))?;
        self.restore()
    }

    /// Restores the settings of the variant before, then applies these. Nothing changes where they are the same.
    pub fn apply(&mut self, settings: &KnobValues) -> Result<(), knobs::Error> {
        if self.applied.as_ref() == Some(settings) {
            return Ok(());
        }
        self.restore()?;
        let Some(knobs) = &mut self.knobs else { return Ok(()) };
        knobs.set_all(settings)?;
        self.applied = Some(settings.clone());
        Ok(())
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
        self.applied = None;
        let failure = knobs.restore()?.failures.into_iter().next();
        failure.map_or(Ok(()), |failure| Err(knobs::Error::NotRestored(failure)))
    }
}

fn left_settings(restored: Vec<knobs::KnobChange>, failures: &[knobs::Unrestored]) -> LeftSettings {
    LeftSettings { restored, problems: failures.iter().map(ToString::to_string).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
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

    /// Begins a run with this kernel setting on the machine; returns what became of the settings that were left.
    fn begin(root: &tempfile::TempDir, setting: Option<&str>) -> (Result<(), String>, LeftSettings) {
        let kernel = setting.map(|name| (name.parse().expect("the name of a setting"), "1".to_owned()));
        let host = Host::below(root.path(), "/no/such/supervisor");
        let variants = [kernel.into_iter().collect::<KnobValues>()];
        match KernelSettings::open(&host, Ok(root.path().join("journal")), &variants) {
            Ok((mut settings, left)) => {
                (settings.try_all(&variants).map_err(|error| error.to_string()), left)
            }
            Err(error) => (Err(error.to_string()), LeftSettings::default()),
        }
    }

    #[test]
    fn another_name_of_a_machine_does_not_restore_what_the_first_has_restored() -> std::io::Result<()> {
        let root = machine()?;
        let host = Host::below(root.path(), "/no/such/supervisor");
        let open = |settings: KnobValues| {
            KernelSettings::open(&host, Ok(root.path().join("journal")), &[settings])
                .expect("it can be opened")
        };
        let setting = ("net.core.somaxconn".parse().expect("the name of a setting"), "1".to_owned());
        let (_first, left) = open([setting].into());
        assert_eq!(left.restored.len(), 1, "{left:?}");
        let (_second, left) = open(KnobValues::default());
        assert_eq!(left, LeftSettings::default());
        Ok(())
    }

    #[test]
    fn a_setting_that_cannot_be_restored_stops_only_a_run_that_has_it() -> std::io::Result<()> {
        let problem = "kernel setting vm.swappiness is not restored to 60: ";
        let is_note = |text: &String| text.starts_with(problem);

        let root = machine()?;
        let (begun, left) = begin(&root, None);
        assert_eq!(begun, Ok(()), "a run that sets nothing goes on");
        assert_eq!(left.restored[0].to, "4096", "{left:?}");
        assert!(left.problems.iter().any(is_note), "{left:?}");
        // The other setting has its value already, so nothing is set and no supervisor is needed.
        fs::write(root.path().join("proc/sys/net/core/somaxconn"), "1\n")?;
        let (begun, left) = begin(&root, Some("net.core.somaxconn"));
        assert_eq!(begun, Ok(()), "a run with another setting goes on");
        assert!(left.problems.iter().any(is_note), "{left:?}");
        let (begun, _) = begin(&root, Some(SWAPPINESS));
        assert!(begun.as_ref().is_err_and(|error| error.starts_with(problem)), "{begun:?}");
        Ok(())
    }
}
