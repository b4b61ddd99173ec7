//! A set of CPUs, in the kernel's list format: `0-3,8`.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::str::FromStr;

use rustix::process::Pid;
use rustix::thread::{CpuSet as KernelSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};

/// A set of CPU numbers. Its text and JSON form is the list format of cpuset(7): `0-3,8`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct CpuSet(BTreeSet<usize>);

impl CpuSet {
    /// The number of CPUs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the set contains this CPU.
    pub fn contains(&self, cpu: usize) -> bool {
        self.0.contains(&cpu)
    }

    /// The CPU numbers in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().copied()
    }

    /// The CPUs that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }

    /// The CPUs on which this thread may run.
    pub fn of_this_thread() -> io::Result<Self> {
        Ok(Self::read(None)?)
    }

    /// The CPUs on which another thread may run.
    pub(crate) fn of_thread(thread: Pid) -> rustix::io::Result<Self> {
        Self::read(Some(thread))
    }

    fn read(thread: Option<Pid>) -> rustix::io::Result<Self> {
        let set = sched_getaffinity(thread)?;
        Ok((0..KernelSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
    }

    /// Pins this thread to these CPUs. Threads and processes that it starts later inherit this.
    pub fn pin_this_thread(&self) -> io::Result<()> {
        self.pin(None).map_err(|error| {
            let message =
                format!("cannot run on CPUs {self}: {error}; list the allowed CPUs with taskset -p $$");
            io::Error::new(io::Error::from(error).kind(), message)
        })
    }

    /// Pins another thread.
    pub(crate) fn pin_thread(&self, thread: Pid) -> rustix::io::Result<()> {
        self.pin(Some(thread))
    }

    fn pin(&self, thread: Option<Pid>) -> rustix::io::Result<()> {
        let mut set = KernelSet::new();
        self.iter().for_each(|cpu| set.set(cpu));
        sched_setaffinity(thread, &set)
    }
}

impl FromIterator<usize> for CpuSet {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut comma = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while cpus.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            if first == last {
                write!(f, "{comma}{first}")?;
            } else {
                write!(f, "{comma}{first}-{last}")?;
            }
            comma = ",";
        }
        Ok(())
    }
}

/// Text that is not a list of CPUs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not a list of CPUs: write numbers below {limit} and ranges, such as 0-3,8", limit = KernelSet::MAX_CPU)]
pub struct ParseError {
    text: String,
}

impl FromStr for CpuSet {
    type Err = ParseError;

    /// Parses `0-3,8`. Blanks around numbers and an empty list are valid. A descending range and a number beyond
    /// the kernel's limit are not.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let number = |text: &str| text.trim().parse().ok().filter(|&cpu: &usize| cpu < KernelSet::MAX_CPU);
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then_some(first..=last)
        };
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
        ranges
            .map(|ranges| ranges.into_iter().flatten().collect())
            .ok_or_else(|| ParseError { text: text.to_owned() })
    }
}

impl From<CpuSet> for String {
    fn from(set: CpuSet) -> Self {
        set.to_string()
    }
}

impl TryFrom<String> for CpuSet {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_and_writes_the_kernel_s_list_format() -> Result<(), ParseError> {
        let set: CpuSet = "8, 0-2,3".parse()?;
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 8]);
        assert_eq!(set.to_string(), "0-3,8");
        assert!("".parse::<CpuSet>()?.is_empty());
        Ok(())
    }

    #[test]
    fn an_invalid_list_is_an_error_that_quotes_it() {
        for text in ["3-1", "a", "1-", "-1", "1,,2", "0-99999999999", "1024"] {
            let error = text.parse::<CpuSet>().expect_err(text);
            assert!(error.to_string().contains(text));
        }
    }

    #[test]
    fn a_pinned_thread_runs_on_its_cpus() -> io::Result<()> {
        std::thread::spawn(|| {
            let one: CpuSet = CpuSet::of_this_thread()?.iter().take(1).collect();
            one.pin_this_thread()?;
            assert_eq!(CpuSet::of_this_thread()?, one);
            let error = CpuSet::default().pin_this_thread().expect_err("an empty set of CPUs");
            assert!(error.to_string().contains("cannot run on CPUs"));
            Ok(())
        })
        .join()
        .expect("the thread does not panic")
    }

    proptest! {
        #[test]
        fn text_and_back_gives_the_same_set(cpus in prop::collection::btree_set(0_usize..1024, 0..40)) {
            let set: CpuSet = cpus.into_iter().collect();
            prop_assert_eq!(set.to_string().parse::<CpuSet>(), Ok(set));
        }

        #[test]
        fn no_text_causes_a_panic(text in ".{0,40}") {
            let _ = text.parse::<CpuSet>();
        }
    }
}
