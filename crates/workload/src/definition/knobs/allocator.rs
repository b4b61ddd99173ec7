//! The memory allocator of a server as knobs that every server has: a library that is loaded before the C library (`LD_PRELOAD`,
//! ld.so(8)), and the number of glibc's arenas (mallopt(3), `MALLOC_ARENA_MAX`). Loading and checking it is left to a start.

use std::collections::BTreeMap;

use host::packages::Dependency;

use super::knob::Knob;
use crate::definition::values::knob_type::{KnobType, TypedValue};

/// A knob of every server: its memory allocator.
pub const ALLOCATOR: &str = "allocator";

/// A knob of every server: how many arenas glibc's allocator may have.
pub const MALLOC_ARENAS: &str = "malloc_arenas";

/// More arenas than this serve no machine.
const MOST_ARENAS: i64 = 1024;

/// The value of [`ALLOCATOR`] that changes nothing.
const OWN: &str = "own";

/// The others: the value, the file of the library, and Debian's package of it. Every program has the C library.
const LIBRARIES: &[(&str, &str, Option<&str>)] = &[
    ("glibc", "libc.so.6", None),
    ("jemalloc", "libjemalloc.so.2", Some("libjemalloc2")),
    ("tcmalloc", "libtcmalloc_minimal.so.4", Some("libtcmalloc-minimal4")),
    ("mimalloc", "libmimalloc.so.2", Some("libmimalloc2.0")),
];

/// A library that replaces `malloc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreloadedAllocator {
    /// The value of the knob.
    pub name: &'static str,
    /// The name of the library's file.
    pub file: &'static str,
    package: Option<&'static str>,
}

impl PreloadedAllocator {
    /// The one that these values of knobs ask for; none for the program's own.
    pub fn of(knobs: &BTreeMap<String, TypedValue>) -> Option<Self> {
        let TypedValue::Text(wanted) = knobs.get(ALLOCATOR)? else { return None };
        let (name, file, package) = *LIBRARIES.iter().find(|(name, ..)| name == wanted)?;
        Some(Self { name, file, package })
    }

    /// Whether it is the one whose arenas [`MALLOC_ARENAS`] counts.
    pub fn is_glibc(&self) -> bool {
        self.name == "glibc"
    }

    /// The library with its package, as [`host::Host::ensure`] takes it; none where every system has it.
    pub fn library(&self) -> Option<Dependency> {
        let package = self.package?.parse().expect("the packages of the table are names: a test reads all");
        Some(Dependency::library(self.file, [("debian".to_owned(), package)].into()))
    }
}

/// The knobs [`ALLOCATOR`] and [`MALLOC_ARENAS`].
pub(in crate::definition) fn knobs() -> [Knob; 2] {
    let names = std::iter::once(OWN).chain(LIBRARIES.iter().map(|(name, ..)| *name));
    let choices = KnobType::Choice(names.map(str::to_owned).collect());
    let about = "the memory allocator, loaded before the C library; own: what the program is linked with";
    let arenas = "arenas of glibc's allocator (MALLOC_ARENA_MAX); 0 is its default, 8 for each CPU";
    let range = KnobType::Integer { from: 0, to: MOST_ARENAS };
    [Knob::built_in(ALLOCATOR, about, choices, OWN), Knob::built_in(MALLOC_ARENAS, arenas, range, "0")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_but_the_own_one_has_a_library_that_can_be_installed() {
        let [allocator, _] = knobs();
        let KnobType::Choice(values) = &allocator.knob_type else { panic!("it has choices") };
        for value in values {
            let knobs = BTreeMap::from([(ALLOCATOR.to_owned(), TypedValue::Text(value.clone()))]);
            let found = PreloadedAllocator::of(&knobs);
            assert_eq!(found.map(|found| found.name), (value != OWN).then_some(value.as_str()));
            if let Some(found) = found {
                assert_eq!(found.library().is_none(), value == "glibc", "{value}");
            }
        }
        assert_eq!(PreloadedAllocator::of(&BTreeMap::new()), None);
    }
}
