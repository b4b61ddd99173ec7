//! Programs and the packages that provide them.

use std::path::PathBuf;

use crate::root::Root;

/// Where a program is, as a server of ours would find it.
pub(crate) fn find_program(root: &Root, name: &str) -> Option<PathBuf> {
    let path = crate::process::base_environment().remove("PATH")?;
    path.split(':').map(|dir| root.path(dir).join(name)).find(|file| file.is_file())
}
