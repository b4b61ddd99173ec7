//! A program of one's own in the place of the package's.

use std::fs;

use libtest_mimic::Failed;
use workload::Instance;

use crate::test_directory::{TestDirectory, resolve};

/// A copy of memcached is the server, tells its version, and is recorded by its hash in the place of the package.
pub fn copy_of_memcached() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    let build = directory.path().join("memcached-b");
    let missing = resolve(&format!("memcached:binary={}", build.display())).expect_err("it is not there");
    assert!(missing.to_string().ends_with("is not a file that exists"), "{missing}");
    fs::copy("/usr/bin/memcached", &build)?;
    let (workload, variant) = resolve(&format!("memcached:binary={}", build.display()))?;
    assert_eq!(variant.own_build(), Some(build.as_path()));
    let mut instance = Instance::start(&workload, &variant, &directory.options()?)?;
    let process = instance.tree().processes().first().expect("it runs").pid;
    assert_eq!(fs::read_link(format!("/proc/{process}/exe"))?, build);
    let facts = instance.facts();
    assert!(!facts.version.is_empty() && facts.further["binary.sha256"].len() == 64, "{facts:?}");
    assert!(!facts.further.contains_key("package"), "{facts:?}");
    instance.stop()?;
    Ok(())
}
