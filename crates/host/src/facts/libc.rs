//! The C library and its build, from the banner in its file, so that no program is run.

use std::path::Path;

use memchr::memmem;

use crate::files::regular_file;
use crate::root::Root;

/// A longer file is no C library: they have 2 MB.
const MAX_LIBRARY_BYTES: u64 = 64 << 20;

/// The directories of the C library. It is in one of these or in a subdirectory.
const LIBRARY_DIRS: &[&str] = &["/lib64", "/lib", "/usr/lib64", "/usr/lib"];

/// The default C library of this machine.
pub(super) fn of_the_system(root: &Root) -> Option<String> {
    let dirs = LIBRARY_DIRS.iter().flat_map(|dir| {
        let below = root
            .list(dir)
            .into_iter()
            .filter(|name| name.contains("-linux-"))
            .map(move |n| format!("{dir}/{n}"));
        std::iter::once((*dir).to_owned()).chain(below)
    });
    dirs.flat_map(|dir| root.list(&dir).into_iter().map(move |name| format!("{dir}/{name}")))
        .find(|path| is_libc(path))
        .and_then(|path| identify(&root.path(path)))
}

/// Whether a file name is that of a C library.
pub(super) fn is_libc(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name == "libc.so.6" || name.starts_with("libc-2.") || name.starts_with("ld-musl-")
}

/// `glibc 2.36 (Debian GLIBC 2.36-9+deb12u13)`, or `musl`, whose file does not contain a version.
pub(super) fn identify(path: &Path) -> Option<String> {
    if path.file_name()?.to_str()?.starts_with("ld-musl-") {
        return Some("musl".into());
    }
    // The path comes from the process: it may be a pipe by now.
    let bytes = regular_file::read(path, MAX_LIBRARY_BYTES).ok()?;
    let banner = &bytes[memmem::find(&bytes, b"GNU C Library (")?..];
    let banner = String::from_utf8_lossy(&banner[..banner.len().min(200)]);
    let (build, rest) = banner.strip_prefix("GNU C Library (")?.split_once(") ")?;
    let version = rest.split_once("version ")?.1.split(['\n', ',', '\0']).next()?.trim_end_matches('.');
    Some(format!("glibc {version} ({build})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_banner_contains_the_version_and_the_build() {
        let (_dir, root) = crate::root::fake_root(&[(
            "/lib/x86_64-linux-gnu/libc.so.6",
            "\0\0GNU C Library (Debian GLIBC 2.36-9+deb12u13) stable release version 2.36.\nCopyright",
        )]);
        assert_eq!(of_the_system(&root).as_deref(), Some("glibc 2.36 (Debian GLIBC 2.36-9+deb12u13)"));
    }

    #[test]
    fn a_file_without_a_banner_is_unknown() {
        let (_dir, root) = crate::root::fake_root(&[("/lib/libc.so.6", "GNU C Library (")]);
        assert_eq!(of_the_system(&root), None);
    }
}
