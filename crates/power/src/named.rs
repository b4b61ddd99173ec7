//! A source that a user names for a run: a meter on the network, or one of this machine by its name.

use std::path::Path;

use crate::description::SourceDescription;
use crate::error::MeterError;
use crate::local;
use crate::source::PowerSource;

/// A source that is not opened yet.
#[derive(Debug, Clone)]
pub enum NamedSource {
    /// A meter on the network.
    Network(Box<SourceDescription>),
    /// A meter of this machine, by the name that `showdown power` prints, such as `rapl-package`.
    Local(String),
}

impl NamedSource {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Network(described) => &described.about().name,
            Self::Local(name) => name,
        }
    }

    /// Whether it measures this machine and no other.
    pub fn is_local(&self) -> bool {
        matches!(self, Self::Local(_))
    }

    /// Whether a meter of this machine may have this name.
    pub fn is_local_name(name: &str) -> bool {
        local::is_name(name)
    }

    /// Opens it, with the files of this machine below `root`: `/`, or a directory that a test filled. The error says what is missing
    /// and what to do.
    pub fn open(
        &self,
        root: &Path,
        virtualization: Option<&str>,
    ) -> Result<Box<dyn PowerSource>, MeterError> {
        let opened = match self {
            Self::Network(described) => described.open(),
            Self::Local(name) => open_local(name, root, virtualization),
        };
        opened.map_err(|why| MeterError { name: self.name().to_owned(), why })
    }
}

fn open_local(name: &str, root: &Path, virtualization: Option<&str>) -> Result<Box<dyn PowerSource>, String> {
    let found = local::find_family(name, root, virtualization);
    let mut names: Vec<String> = Vec::new();
    for source in found.sources {
        if source.about().name == name {
            return Ok(source);
        }
        names.push(source.about().name.clone());
    }
    // `rapl` has a reason that helps with `rapl-package`.
    let missing = found.not_measured.into_iter().find(|missing| name.starts_with(&missing.name));
    Err(match (missing, names.is_empty()) {
        (Some(missing), _) => missing.why,
        (None, true) => {
            "this machine has no meter of this name: `showdown power` prints those that it has".to_owned()
        }
        (None, false) => format!("this machine has {}: name one of them", names.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SourceKeys;
    use crate::testing::machine;

    #[test]
    fn a_meter_of_this_machine_is_found_by_its_name() {
        let root = machine(&[
            ("/sys/class/powercap/intel-rapl:0/name", "package-0"),
            ("/sys/class/powercap/intel-rapl:0/energy_uj", "5"),
            ("/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "1000"),
        ]);
        let open = |name: &str| NamedSource::Local(name.to_owned()).open(root.path(), None);
        assert_eq!(open("rapl-package").unwrap().about().kind, "rapl");
        let why = |name| open(name).unwrap_err().to_string();
        assert_eq!(
            why("rapl-dram"),
            "rapl-dram gives no watts: this machine has rapl-package: name one of them"
        );
        assert!(why("hwmon-x").contains("no sensor gives power"));
        assert!(why("plug").ends_with("`showdown power` prints those that it has"));
        let bare = machine(&[]);
        let absent =
            NamedSource::Local("rapl-package".to_owned()).open(bare.path(), Some("kvm")).unwrap_err();
        assert!(absent.why.contains("virtual machine (kvm)"), "{absent}");
    }

    #[test]
    fn a_meter_on_the_network_is_opened_without_asking_it() {
        let keys = SourceKeys::from_argument("shelly=http://10.0.0.31").unwrap();
        let named = NamedSource::Network(Box::new(keys.check("desk").unwrap()));
        assert_eq!((named.name(), named.is_local()), ("desk", false));
        assert!(named.open(Path::new("/"), None).is_ok());
    }
}
