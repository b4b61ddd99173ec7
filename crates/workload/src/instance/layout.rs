//! What moves a server's memory from start to start beside the kernel's own randomisation: the length of its environment, and of the
//! path of its directory. With the same lengths in all starts, the layout of a program would be one draw for the whole run
//! (Mytkowicz et al., "Producing wrong data without doing anything obviously wrong!", ASPLOS 2009).

use std::path::{Path, PathBuf};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The variable that lengthens a server's environment.
pub const VARIABLE: &str = "SHOWDOWN_LAYOUT";
/// Its longest value: a page of the stack, after which the addresses of the stack repeat.
const LONGEST_VALUE: usize = 4096;
/// The longest part of the path. The path of a Unix socket below it must stay under 108 bytes.
const LONGEST_NAME: usize = 16;

/// The lengths of one start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartLayout {
    name: usize,
    value: usize,
}

impl StartLayout {
    /// The lengths of the start with this number in a run with this seed: a rerun has the same ones.
    pub fn of_start(seed: u64, start: u32) -> Self {
        let mut rng = Pcg64Mcg::seed_from_u64(seed.rotate_left(32) ^ u64::from(start));
        Self { name: rng.random_range(1..=LONGEST_NAME), value: rng.random_range(0..=LONGEST_VALUE) }
    }

    /// The directory of a start in this one.
    pub fn directory_in(self, parent: &Path) -> PathBuf {
        parent.join("x".repeat(self.name))
    }

    /// The value of [`VARIABLE`].
    pub fn value(self) -> String {
        "x".repeat(self.value)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn lengths_follow_from_seed_and_start_and_differ_from_start_to_start() {
        let lengths = |seed| (1..20).map(|start| StartLayout::of_start(seed, start)).collect::<Vec<_>>();
        assert_eq!(lengths(7), lengths(7));
        assert_ne!(lengths(7), lengths(8));
        let distinct: BTreeSet<usize> = lengths(7).iter().map(|layout| layout.value).collect();
        assert!(distinct.len() > 15, "{distinct:?}");
        let directory = StartLayout::of_start(7, 1).directory_in(Path::new("/tmp/a"));
        assert!(
            directory.starts_with("/tmp/a") && directory.as_os_str().len() <= "/tmp/a/".len() + LONGEST_NAME
        );
    }
}
