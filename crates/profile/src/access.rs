//! What this user may see on this machine, found by trying.

use serde::{Deserialize, Serialize};

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
    /// Stacks of the kernel in CPU samples, and all processes at once.
    pub kernel_stacks: Ability,
    /// Names of the kernel's functions.
    pub kernel_symbols: Ability,
    /// Hardware counters.
    pub counters: Ability,
}

impl Access {
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
