//! A tuning: settings to try for a server, what calls for them, what they risk, and where they come from. Reading its file is left
//! to [`crate::tuning_file`].

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::condition::Condition;

/// A tuning.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuning {
    /// The name of its file.
    pub id: String,
    /// What it does, in a few words.
    pub title: String,
    /// Why it may make a server faster.
    pub about: String,
    /// The servers that it is for; empty for any that has its knobs.
    pub servers: Vec<String>,
    /// Knobs with the values without which it changes nothing, such as the log that it is about.
    pub only_with: BTreeMap<String, String>,
    /// The versions of the server that have it, in words; empty for all that the workloads run.
    pub versions: String,
    /// What it changes.
    pub scope: Scope,
    /// What it needs.
    pub needs: Vec<Need>,
    /// What calls for it: all conditions are met. Without one, it is worth a try anywhere.
    pub when: Vec<Condition>,
    /// What speaks against it: one condition holds.
    pub unless: Vec<Condition>,
    /// What a user should know before keeping it.
    pub avoid: String,
    /// Which data a crash loses with it, and not without.
    pub durability: Durability,
    /// Whether it weakens security.
    pub security: Security,
    /// What should change if it works as described.
    pub mechanism: Option<Mechanism>,
    /// What others have measured.
    pub expected: Option<Expected>,
    /// Other tunings that it cannot be combined with.
    pub conflicts: Vec<String>,
    /// How its settings are undone.
    pub undo: String,
    /// Where it is documented.
    pub source: String,
    /// The settings to try, one at least.
    pub levels: Vec<Level>,
}

/// Settings to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// Values by knob or kernel setting, as text. They are templates with the variables `cpus` and `memory_mb`.
    pub set: BTreeMap<String, String>,
    /// A text that the effective configuration has when the level took effect, a template with the server's knobs.
    pub verify: Option<String>,
    /// Lines for the user's own configuration, templates as the values are.
    pub take_home: Vec<String>,
}

/// What a tuning changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The configuration of the server.
    Server,
    /// The process: its libraries and environment.
    Process,
    /// Settings of the kernel that sysctl(8) has.
    Sysctl,
    /// Settings of the kernel below `/sys`.
    Sysfs,
    /// The command line of the kernel, or its build: it is listed, and never tried.
    Boot,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Server => "server",
            Self::Process => "process",
            Self::Sysctl => "sysctl",
            Self::Sysfs => "sysfs",
            Self::Boot => "boot",
        })
    }
}

/// What a tuning needs of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// The rights of root.
    Root,
    /// More than one CPU for the server.
    SeveralCpus,
    /// More than one NUMA node.
    SeveralNodes,
    /// Huge pages of 2 MB, none of which is reserved: a number of pages means another size elsewhere, and those that are reserved
    /// are another program's.
    HugePages,
    /// CPUs of the server with numbers below 32: a mask of more has commas, which a variant cannot have.
    CpuMask,
    /// A restart of the machine.
    Reboot,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Root => "root",
            Self::SeveralCpus => "several CPUs for the server",
            Self::SeveralNodes => "several NUMA nodes",
            Self::HugePages => "huge pages of 2 MB, none of which is reserved yet",
            Self::CpuMask => "known CPUs of the server, with numbers below 32",
            Self::Reboot => "a restart of the machine",
        })
    }
}

/// Which data a crash loses with a tuning, and not without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// None.
    #[default]
    None,
    /// What the server had not written when it crashed.
    ProcessCrash,
    /// What the machine had not written when it crashed or lost its power.
    OsCrash,
    /// The changes since the last backup: there is no log to replay.
    Recovery,
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "no data",
            Self::ProcessCrash => "the last data when the server crashes",
            Self::OsCrash => "the last data when the machine crashes",
            Self::Recovery => "the changes since the last backup when the data are lost",
        })
    }
}

/// Whether a tuning weakens security.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Security {
    /// It does not.
    #[default]
    None,
    /// It does.
    Weaker,
}

/// What should change if a tuning works as described. Otherwise its gain is unexplained.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mechanism {
    /// The figure, as `explain` names it.
    pub figure: String,
    /// Its direction.
    pub moves: Moves,
}

/// The direction of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moves {
    /// The figure is larger.
    Up,
    /// The figure is smaller.
    Down,
}

/// What others have measured. It orders what is tried, and is no prediction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The smallest ratio that is published.
    pub low: f64,
    /// The largest one.
    pub high: f64,
    /// Who published it.
    pub source: String,
    /// On which machine, where that is stated.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hardware: String,
    /// When, where that is stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub year: Option<u32>,
}

impl Tuning {
    /// Whether it may be tried without the user's leave: it costs neither durability nor security.
    pub fn is_free(&self) -> bool {
        self.durability == Durability::None && self.security == Security::None
    }

    /// Whether it is for the server of this name.
    pub fn is_for(&self, server: &str) -> bool {
        self.servers.is_empty() || self.servers.iter().any(|name| name == server)
    }

    /// Whether it cannot be combined with another one: a file says so, or both set the same.
    pub fn conflicts_with(&self, other: &Self) -> bool {
        let named = |one: &Self, two: &Self| one.conflicts.contains(&two.id);
        let sets =
            |tuning: &Self, name: &String| tuning.levels.iter().any(|level| level.set.contains_key(name));
        let shares = self.levels.iter().any(|level| level.set.keys().any(|name| sets(other, name)));
        self.id == other.id || named(self, other) || named(other, self) || shares
    }
}
