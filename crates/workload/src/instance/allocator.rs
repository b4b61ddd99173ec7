//! The memory allocator that a variant asks for: its library is found or installed, named in the server's environment, and looked
//! for in the maps of the server's processes once it is ready.

use std::collections::BTreeMap;
use std::path::Path;

use host::Host;

use super::error::InstanceError;
use super::running::Instance;
use crate::definition::{MALLOC_ARENAS, PreloadedAllocator, TypedValue};

const PRELOAD: &str = "LD_PRELOAD";
const ARENAS: &str = "MALLOC_ARENA_MAX";

/// The log of an installation, in the private directory of the start.
const INSTALL_LOG: &str = "install.log";

/// Sets the environment of a server to this allocator.
pub(super) fn set(
    allocator: Option<PreloadedAllocator>,
    server: &str,
    knobs: &BTreeMap<String, TypedValue>,
    host: &Host,
    private: &Path,
    environment: &mut BTreeMap<String, String>,
) -> Result<(), InstanceError> {
    if let Some(TypedValue::Integer(arenas @ 1..)) = knobs.get(MALLOC_ARENAS) {
        environment.insert(ARENAS.to_owned(), arenas.to_string());
    }
    let Some(allocator) = allocator else { return Ok(()) };
    let library = match allocator.library() {
        None => allocator.file.to_owned(),
        Some(library) => host
            .ensure_library(&library, &private.join(INSTALL_LOG))
            .map_err(|source| InstanceError::AllocatorLibrary { server: server.to_owned(), source })?
            .to_string_lossy()
            .into_owned(),
    };
    let preload = match environment.get(PRELOAD) {
        Some(others) => format!("{library}:{others}"),
        None => library,
    };
    environment.insert(PRELOAD.to_owned(), preload);
    Ok(())
}

/// Checks that every process of a server that is ready has this allocator. One whose maps this user may not read is left out.
pub(super) fn check(allocator: PreloadedAllocator, instance: &Instance) -> Result<(), InstanceError> {
    let PreloadedAllocator { name, file, .. } = allocator;
    let processes = instance.tree().processes();
    let without =
        processes.iter().find(|process| instance.options.host.has_mapped(process.pid, file) == Some(false));
    match without {
        None => Ok(()),
        Some(process) => Err(InstanceError::AllocatorNotUsed {
            server: instance.server.name.clone(),
            name,
            file,
            pid: process.pid,
        }),
    }
}
