//! The memory allocator that a variant asks for: its library is found or installed, named in the server's environment, and looked
//! for in the maps of the server's processes once it is ready.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use host::ServerCommand;

use crate::definition::{MALLOC_ARENAS, PreloadedAllocator, TypedValue};
use crate::instance::error::InstanceError;
use crate::instance::running::Instance;
use crate::instance::tool::Tools;

const PRELOAD: &str = "LD_PRELOAD";
const ARENAS: &str = "MALLOC_ARENA_MAX";

/// The log of an installation, in the private directory of the start.
const INSTALL_LOG: &str = "install.log";

/// How long a process may be without the library: one that has just begun its program has not mapped it yet.
const LONGEST_LOADING: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Sets the environment of a server's command to this allocator.
pub(in crate::instance) fn set(
    allocator: Option<PreloadedAllocator>,
    knobs: &BTreeMap<String, TypedValue>,
    tools: &Tools,
    command: &mut ServerCommand,
) -> Result<(), InstanceError> {
    if let Some(TypedValue::Integer(arenas @ 1..)) = knobs.get(MALLOC_ARENAS) {
        command.env.insert(ARENAS.to_owned(), arenas.to_string());
    }
    let Some(allocator) = allocator else { return Ok(()) };
    let library = match allocator.library() {
        None => allocator.file.to_owned(),
        Some(library) => tools
            .host
            .ensure(&library, &tools.private.join(INSTALL_LOG))
            .map_err(|source| InstanceError::AllocatorLibrary { server: command.name.clone(), source })?
            .to_string_lossy()
            .into_owned(),
    };
    let preload = match command.env.get(PRELOAD) {
        Some(others) => format!("{library}:{others}"),
        None => library,
    };
    command.env.insert(PRELOAD.to_owned(), preload);
    Ok(())
}

/// Checks that every process of a server that is ready has this allocator. One whose maps this user may not read is left out.
pub(in crate::instance) fn check(
    allocator: PreloadedAllocator,
    instance: &Instance,
) -> Result<(), InstanceError> {
    let PreloadedAllocator { name, file, .. } = allocator;
    let without = || {
        let mut pids = instance.tree().processes().into_iter().map(|process| process.pid);
        pids.find(|pid| instance.options.host.has_mapped(*pid, file) == Some(false))
    };
    match found_until(LONGEST_LOADING, without) {
        None => Ok(()),
        Some(pid) => {
            Err(InstanceError::AllocatorNotUsed { server: instance.server.name.clone(), name, file, pid })
        }
    }
}

/// What `look` finds, if it finds something again and again for this long.
fn found_until<T>(longest: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + longest;
    loop {
        let found = look()?;
        if Instant::now() >= until {
            return Some(found);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_still_loads_its_libraries_is_waited_for() {
        let mut looks = [Some(7), Some(7), None].into_iter();
        assert_eq!(found_until(LONGEST_LOADING, || looks.next().expect("no further look")), None);
        assert_eq!(found_until(Duration::ZERO, || Some(7)), Some(7));
    }
}
