//! Made-up runs for tests: nginx carries 1.6 × apache's load. They are in memory only.

use std::path::Path;

use archive::{Archive, Run, RunId};

/// A comparison of so many blocks.
pub(crate) fn comparison(blocks: u32) -> Run {
    read(|root| archive::example::comparison(root, blocks))
}

/// One with watts at these shares of the full load. From a trial on, the meter at the wall gives nothing.
pub(crate) fn metered_comparison(blocks: u32, shares: &[f64], lost_from: Option<u32>) -> Run {
    read(|root| archive::example::metered_comparison(root, blocks, shares, lost_from))
}

fn read(write: impl FnOnce(&Path) -> archive::Result<RunId>) -> Run {
    let root = tempfile::tempdir().unwrap();
    let id = write(root.path()).unwrap();
    Archive::new(root.path()).open(id.as_str()).unwrap()
}
