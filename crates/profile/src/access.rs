//! What this user may see on this machine, found by trying.

use std::fs;
use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};

use crate::code::kernel_symbols::KernelSymbols;
use crate::cpu::events::{self, Trial};
use crate::kernel_events::refusal;

/// How much of a process can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// States of threads, from `/proc`.
    ThreadStates,
    /// CPU samples with stacks of programs, without the kernel.
    UserStacks,
    /// CPU samples with stacks of programs and of the kernel.
    KernelStacks,
    /// As before, and events of hardware counters.
    Counters,
}

/// Whether something can be seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ability {
    /// It can.
    Yes,
    /// It cannot.
    No {
        /// Why: "`kernel.perf_event_paranoid` is 2".
        reason: String,
        /// What to do: "run as root".
        remedy: String,
    },
}

impl Ability {
    /// Whether it can be seen.
    pub fn is_yes(&self) -> bool {
        *self == Self::Yes
    }
}

/// What this user may see on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// What threads of other users' processes wait for: `/proc/PID/task/TID/syscall`.
    pub other_users_threads: Ability,
    /// Stacks of programs in CPU samples.
    pub user_stacks: Ability,
    /// Stacks of the kernel in CPU samples.
    pub kernel_stacks: Ability,
    /// Names of the kernel's functions.
    pub kernel_symbols: Ability,
    /// Hardware counters.
    pub counters: Ability,
}

impl Access {
    /// Finds out by trying.
    pub fn probe() -> Self {
        let sampling = |trial| match events::attempt(trial) {
            Ok(()) => Ability::Yes,
            Err(error) => {
                let (reason, remedy) = refusal(&error);
                Ability::No { reason, remedy }
            }
        };
        Self {
            other_users_threads: foreign_threads(),
            user_stacks: sampling(Trial::OwnUserCode),
            kernel_stacks: sampling(Trial::Kernel),
            kernel_symbols: kernel_symbols(),
            counters: sampling(Trial::Counters),
        }
    }

    /// The level of all this. Symbols are no part of it.
    pub fn level(&self) -> Level {
        match (&self.user_stacks, &self.kernel_stacks, &self.counters) {
            (_, Ability::Yes, Ability::Yes) => Level::Counters,
            (_, Ability::Yes, _) => Level::KernelStacks,
            (Ability::Yes, ..) => Level::UserStacks,
            _ => Level::ThreadStates,
        }
    }

    /// Each ability with its name, for a table.
    pub fn table(&self) -> [(&'static str, &Ability); 5] {
        [
            ("waits of other users' threads", &self.other_users_threads),
            ("CPU samples with stacks of programs", &self.user_stacks),
            ("CPU samples with stacks of the kernel", &self.kernel_stacks),
            ("names of the kernel's functions", &self.kernel_symbols),
            ("hardware counters", &self.counters),
        ]
    }
}

/// Tries processes of other users. Those that are protected even from root do not matter if others can be read.
fn foreign_threads() -> Ability {
    let own = rustix::process::geteuid().as_raw();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let foreign = entries.filter(|entry| {
        entry.file_name().to_string_lossy().starts_with(|c: char| c.is_ascii_digit())
            && entry.metadata().is_ok_and(|metadata| metadata.uid() != own)
    });
    let mut tries = foreign.map(|entry| fs::read(entry.path().join("syscall")).is_ok()).peekable();
    let is_root = own == 0;
    if (tries.peek().is_none() && is_root) || tries.any(|worked| worked) {
        return Ability::Yes;
    }
    Ability::No {
        reason: "/proc/PID/syscall of other users' processes cannot be read".to_owned(),
        remedy: "run as root, or start the server as your user".to_owned(),
    }
}

/// Addresses are shown as zeros to those who may not see them.
fn kernel_symbols() -> Ability {
    if !KernelSymbols::read().is_empty() {
        return Ability::Yes;
    }
    let reason = "/proc/kallsyms shows no addresses".to_owned();
    Ability::No {
        reason,
        remedy: "run as root, or set kernel.kptr_restrict to 0 and kernel.perf_event_paranoid to 1"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_needs_those_below_it() {
        let no = || Ability::No { reason: "no".into(), remedy: "none".into() };
        let access = |user_stacks, kernel_stacks, counters| Access {
            other_users_threads: no(),
            user_stacks,
            kernel_stacks,
            kernel_symbols: no(),
            counters,
        };
        assert_eq!(access(no(), no(), no()).level(), Level::ThreadStates);
        assert_eq!(access(Ability::Yes, no(), Ability::Yes).level(), Level::UserStacks);
        assert_eq!(access(Ability::Yes, Ability::Yes, no()).level(), Level::KernelStacks);
        assert_eq!(access(Ability::Yes, Ability::Yes, Ability::Yes).level(), Level::Counters);
    }

    #[test]
    fn what_cannot_be_seen_has_a_reason_and_a_remedy() {
        for (name, ability) in Access::probe().table() {
            if let Ability::No { reason, remedy } = ability {
                assert!(!reason.is_empty() && !remedy.is_empty(), "{name}");
            }
        }
    }
}
