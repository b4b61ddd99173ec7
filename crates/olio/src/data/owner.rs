//! Whose data they are: a directory that others may write to is not used, and what root has made is good for everybody.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

/// Where a user's data are kept.
pub fn cache_of(user: u32) -> PathBuf {
    PathBuf::from(format!("/var/tmp/olio-{user}"))
}

/// Everybody may make directories beside it: it must be that of the user, who alone writes to it.
pub fn is_of(cache: &Path, user: u32) -> Result<()> {
    let owner = fs::metadata(cache)?;
    let is_own = owner.uid() == user && owner.mode() & 0o022 == 0;
    ensure!(is_own, "{} belongs to others, or they may write to it: choose another --cache", cache.display());
    Ok(())
}

/// nginx and the database may run as another user than the one who makes the data, in which there is no secret.
pub fn readable_by_servers(directory: &Path) -> Result<()> {
    Ok(fs::set_permissions(directory, fs::Permissions::from_mode(0o755))?)
}

/// The number of the user of this process.
pub fn this_user() -> u32 {
    fs::metadata("/proc/self").map_or(u32::MAX, |process| process.uid())
}
