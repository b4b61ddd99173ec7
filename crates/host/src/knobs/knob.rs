//! The name of a kernel setting, and patterns of names.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A kernel setting, by its sysctl(8) name (`net.core.somaxconn`) or by its file below `/sys`
/// (`/sys/kernel/mm/transparent_hugepage/enabled`).
///
/// Other names are invalid, so that neither a workload nor a journal can cause a write to another file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Knob(String);

/// Text that is not the name of a setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is not a kernel setting: give a sysctl name, such as net.core.somaxconn, or a file below /sys"
)]
pub struct InvalidKnob(String);

impl Knob {
    /// The file that contains the value.
    pub fn path(&self) -> String {
        path_of(&self.0)
    }

    /// The setting with this file.
    pub(super) fn of_path(path: &str) -> Option<Self> {
        let Some(below) = path.strip_prefix("/proc/sys/") else { return path.parse().ok() };
        let name = if below.contains('.') { below.to_owned() } else { below.replace('/', ".") };
        name.parse().ok()
    }

    /// Files below `/sys` may list choices and mark the selected one.
    pub(super) fn has_choices(&self) -> bool {
        self.0.starts_with('/')
    }
}

impl FromStr for Knob {
    type Err = InvalidKnob;

    fn from_str(name: &str) -> Result<Self, InvalidKnob> {
        let knob = Self(name.to_owned());
        let path = knob.path();
        let below = path.strip_prefix("/sys/").or_else(|| path.strip_prefix("/proc/sys/"));
        let is_component = |part: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.:@".contains(c);
            !part.is_empty() && !part.starts_with('.') && part.chars().all(is_plain)
        };
        match below {
            Some(below) if below.split('/').all(is_component) => Ok(knob),
            _ => Err(InvalidKnob(name.to_owned())),
        }
    }
}

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Knob> for String {
    fn from(knob: Knob) -> Self {
        knob.0
    }
}

impl TryFrom<String> for Knob {
    type Error = InvalidKnob;

    fn try_from(name: String) -> Result<Self, InvalidKnob> {
        name.parse()
    }
}

/// The file of a setting or of a pattern of settings.
pub(super) fn path_of(name: &str) -> String {
    if name.starts_with('/') {
        name.to_owned()
    } else if name.contains('/') {
        // The notation of sysctl(8) for names that contain dots: net/ipv4/conf/eth0.1/rp_filter.
        format!("/proc/sys/{name}")
    } else {
        format!("/proc/sys/{}", name.replace('.', "/"))
    }
}

/// Whether a path matches a pattern in which `*` stands for any text without a slash. Returns what the first `*`
/// stands for; an empty text if there is none.
pub(super) fn matches(pattern: &str, path: &str) -> Option<String> {
    let (patterns, parts): (Vec<_>, Vec<_>) = (pattern.split('/').collect(), path.split('/').collect());
    if patterns.len() != parts.len() {
        return None;
    }
    let mut first = None;
    for (pattern, part) in patterns.into_iter().zip(parts) {
        match pattern.split_once('*') {
            None if pattern == part => {}
            None => return None,
            Some((before, after)) => {
                let star = part.strip_prefix(before)?.strip_suffix(after)?;
                first.get_or_insert(star.to_owned());
            }
        }
    }
    Some(first.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_map_to_files_of_the_kernel() -> Result<(), InvalidKnob> {
        let path = |name: &str| name.parse::<Knob>().map(|knob| knob.path());
        assert_eq!(path("net.core.somaxconn")?, "/proc/sys/net/core/somaxconn");
        assert_eq!(path("net/ipv4/conf/eth0.1/rp_filter")?, "/proc/sys/net/ipv4/conf/eth0.1/rp_filter");
        assert_eq!(path("/sys/block/vda/queue/scheduler")?, "/sys/block/vda/queue/scheduler");
        Ok(())
    }

    #[test]
    fn names_of_other_files_are_invalid() {
        for name in [
            "",
            "/etc/passwd",
            "/sys/../etc/passwd",
            "..",
            "a/../../etc/x",
            "/sys/",
            "net..core",
            "a b",
            "a\n",
        ] {
            assert!(name.parse::<Knob>().is_err(), "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn valid_names_stay_below_their_directory(name in "[a-z./ ]{0,30}|/sys[a-z./]{0,20}") {
            if let Ok(knob) = name.parse::<Knob>() {
                let path = knob.path();
                prop_assert!(path.starts_with("/sys/") || path.starts_with("/proc/sys/"));
                prop_assert!(!path.split('/').any(|part| part == ".."));
            }
        }
    }
}
