//! The memory allocator of a process. A difference in allocators once turned a ratio of 4.5× into 8×.

use std::path::Path;

use memchr::memmem;
use serde::{Deserialize, Serialize};

use crate::files::regular_file;

/// A longer file is not searched. The largest programs that are known have a third of it.
pub(super) const MAX_PROGRAM_BYTES: u64 = 1 << 30;

/// A memory allocator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocator {
    /// `glibc malloc`, `musl malloc`, `jemalloc`, `tcmalloc`, `mimalloc`, or another one with its own library.
    pub name: String,
    /// Its library. None if it is linked into the program.
    pub library: Option<String>,
}

/// Makes a text that only programs with this allocator contain. It is composed at run time: as a literal, it would
/// also be in this program, whose allocator may be searched for.
type Signature = fn(&str) -> String;

/// Allocators: name, prefix of the library's name, signature in a program.
const ALLOCATORS: &[(&str, &str, Option<Signature>)] = &[
    ("jemalloc", "libjemalloc", Some(|name| format!("<{name}>: "))),
    ("tcmalloc", "libtcmalloc", Some(|name| format!("{name}: large alloc"))),
    ("mimalloc", "libmimalloc", Some(|name| format!("{name}: "))),
    ("snmalloc", "libsnmalloc", None),
    ("hoard", "libhoard", None),
];

/// Finds the allocator from the mapped files of a process and the bytes of its program. A replacement precedes the C
/// library in the symbol search order, so it is in use if it is present. Otherwise the C library's is in use.
pub(super) fn find(libraries: &[String], program: &Path) -> Option<Allocator> {
    let name_of = |path: &String| path.rsplit('/').next().unwrap_or_default().to_owned();
    for (name, library, _) in ALLOCATORS {
        if let Some(path) = libraries.iter().find(|path| name_of(path).starts_with(library)) {
            return Some(Allocator { name: (*name).into(), library: Some(path.clone()) });
        }
    }
    let program = regular_file::read(program, MAX_PROGRAM_BYTES).unwrap_or_default();
    for (name, _, signature) in ALLOCATORS {
        if signature.is_some_and(|signature| memmem::find(&program, signature(name).as_bytes()).is_some()) {
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
        let file = tempfile::NamedTempFile::new().expect("make a temporary file");
        std::fs::write(file.path(), program).expect("write the file");
        let libraries: Vec<_> = libraries.iter().map(|&path| path.to_owned()).collect();
        find(&libraries, file.path()).map(|allocator| (allocator.name, allocator.library))
    }

    #[test]
    fn a_replacement_precedes_the_allocator_of_the_c_library() {
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
