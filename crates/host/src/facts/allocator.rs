//! The memory allocator that a process uses: a difference between two sides that made 8× out of 4.5×.

use std::path::Path;

use memchr::memmem;
use serde::{Deserialize, Serialize};

/// A memory allocator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocator {
    /// `glibc malloc`, `musl malloc`, `jemalloc`, `tcmalloc`, `mimalloc`, or another that has its own library.
    pub name: String,
    /// The library that it is in; none if it is linked into the program.
    pub library: Option<String>,
}

/// A text that only an allocator of this name has in it. It is put together when it is looked for: written here in
/// one piece, it would be found in our own program, which may be the one that is asked about.
type Mark = fn(&str) -> String;

/// Allocators by name, by the beginning of their libraries' names, and by their mark in a program.
const ALLOCATORS: &[(&str, &str, Option<Mark>)] = &[
    ("jemalloc", "libjemalloc", Some(|name| format!("<{name}>: "))),
    ("tcmalloc", "libtcmalloc", Some(|name| format!("{name}: large alloc"))),
    ("mimalloc", "libmimalloc", Some(|name| format!("{name}: "))),
    ("snmalloc", "libsnmalloc", None),
    ("hoard", "libhoard", None),
];

/// From the files that a process has mapped, and its program's bytes. A replacement comes first in the
/// search order of symbols, so it is in use if it is there; the C library's is in use otherwise.
pub(super) fn find(libraries: &[String], program: &Path) -> Option<Allocator> {
    let name_of = |path: &String| path.rsplit('/').next().unwrap_or_default().to_owned();
    for (name, library, _) in ALLOCATORS {
        if let Some(path) = libraries.iter().find(|path| name_of(path).starts_with(library)) {
            return Some(Allocator { name: (*name).into(), library: Some(path.clone()) });
        }
    }
    let program = std::fs::read(program).unwrap_or_default();
    for (name, _, mark) in ALLOCATORS {
        if mark.is_some_and(|mark| memmem::find(&program, mark(name).as_bytes()).is_some()) {
            return Some(Allocator { name: (*name).into(), library: None });
        }
    }
    let libc = libraries.iter().find(|path| super::libc::is_libc(path))?;
    let name = if name_of(libc).starts_with("ld-musl-") { "musl malloc" } else { "glibc malloc" };
    Some(Allocator { name: name.into(), library: Some(libc.clone()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GLIBC: &str = "/lib/x86_64-linux-gnu/libc.so.6";

    fn found(libraries: &[&str], program: &[u8]) -> Option<(String, Option<String>)> {
        let file = tempfile::NamedTempFile::new().expect("there is a place for temporary files");
        std::fs::write(file.path(), program).expect("it can be written");
        let libraries: Vec<_> = libraries.iter().map(|&path| path.to_owned()).collect();
        find(&libraries, file.path()).map(|allocator| (allocator.name, allocator.library))
    }

    #[test]
    fn a_replacement_wins_over_the_c_library_s() {
        let name = "jemalloc";
        let jemalloc = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2";
        assert_eq!(found(&[GLIBC, jemalloc], b""), Some(("jemalloc".into(), Some(jemalloc.into()))));
        assert_eq!(found(&[GLIBC], format!("\0<{name}>: Error").as_bytes()), Some(("jemalloc".into(), None)));
        assert_eq!(found(&[GLIBC], b"no other"), Some(("glibc malloc".into(), Some(GLIBC.into()))));
        let musl = "/lib/ld-musl-x86_64.so.1";
        assert_eq!(found(&[musl], b""), Some(("musl malloc".into(), Some(musl.into()))));
        assert_eq!(found(&[], b"a static program"), None);
    }
}
