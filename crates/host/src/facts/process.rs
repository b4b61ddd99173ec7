//! Facts of a process: its program and build, libraries, environment, limits.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use object::Object;
use procfs::FromRead;
use procfs::process::{MMapPath, MemoryMaps};
use serde::{Deserialize, Serialize};

use super::{Allocator, allocator, flatten, libc, limits};
use crate::control_groups::zone;
use crate::root::Root;
use crate::secrets;

/// Environment variables that affect the speed of a program and contain no secrets. Of all others only the names are
/// recorded.
const RECORDED_VARIABLES: &[&str] = &[
    "GLIBC_TUNABLES",
    "GODEBUG",
    "GOGC",
    "GOMAXPROCS",
    "GOMEMLIMIT",
    "JAVA_TOOL_OPTIONS",
    "LANG",
    "LC_ALL",
    "LD_BIND_NOW",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "MALLOC_ARENA_MAX",
    "MALLOC_CONF",
    "OMP_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES",
    "TOKIO_WORKER_THREADS",
    "TZ",
    "UV_THREADPOOL_SIZE",
];

/// Replaces a value that is not recorded.
const NOT_RECORDED: &str = "(not recorded)";

/// The facts of a process at one time. What is not readable is absent: if a worker of a server changed its user, an
/// ordinary user can read less of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessFacts {
    /// Its process ID.
    pub pid: u32,
    /// The program's file.
    pub executable: Option<String>,
    /// The linker's build ID of the program (`.note.gnu.build-id`), in hexadecimal.
    pub build_id: Option<String>,
    /// Its command line, with secrets masked.
    pub command_line: Vec<String>,
    /// Its memory allocator.
    pub allocator: Option<Allocator>,
    /// Its C library. None for a static program.
    pub libc: Option<String>,
    /// Its environment: values for a few names, "(not recorded)" for the rest.
    pub environment: BTreeMap<String, String>,
    /// Its resource limits, as "soft / hard".
    pub limits: BTreeMap<String, String>,
    /// How the kernel keeps it on CPUs of its own; none where it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Kernel properties: allowed CPUs, seccomp, speculation, huge pages (`/proc/PID/status`).
    pub status: BTreeMap<String, String>,
}

/// The lines of `/proc/PID/status` that affect the speed of a process. They are recorded by the kernel's names, which
/// procfs does not keep.
const STATUS_LINES: &[&str] = &[
    "Cpus_allowed_list",
    "Mems_allowed_list",
    "Seccomp",
    "Speculation_Store_Bypass",
    "SpeculationIndirectBranch",
    "THP_enabled",
];

impl ProcessFacts {
    /// Returns none when there is no such process.
    pub(crate) fn read(root: &Root, pid: u32) -> Option<Self> {
        let dir = format!("/proc/{pid}");
        let status = root.read(format!("{dir}/status"))?;
        let program = root.path(format!("{dir}/exe"));
        let executable = fs::read_link(&program).ok().map(|path| path.to_string_lossy().into_owned());
        let libraries = mapped_files(root, &dir);
        let of_libc = libraries.iter().find(|path| libc::is_libc(path));
        // The process may be in a container: its paths are relative to its own root.
        let libc = of_libc.and_then(|path| libc::identify(&root.path(format!("{dir}/root{path}"))));
        let environment = strings(root, &format!("{dir}/environ"));
        Some(Self {
            pid,
            executable,
            build_id: build_id(&program),
            command_line: secrets::mask(strings(root, &format!("{dir}/cmdline")).iter().map(String::as_str)),
            allocator: allocator::find(&libraries, &program),
            libc,
            environment: environment.iter().filter_map(|entry| variable(entry)).collect(),
            limits: limits::read(root, &format!("{dir}/limits")),
            zone: root.read(format!("{dir}/cgroup")).and_then(|text| zone::kind_of(&text)).map(str::to_owned),
            status: status.lines().filter_map(status_line).collect(),
        })
    }

    /// The comparable facts, from dotted keys (`allocator.name`, `environment.LD_PRELOAD`) to text.
    pub fn flat(&self) -> BTreeMap<String, String> {
        let mut flat = flatten(self);
        flat.remove("pid");
        flat
    }
}

/// Reads a file of NUL-terminated strings.
fn strings(root: &Root, path: &str) -> Vec<String> {
    let text = root.read(path).unwrap_or_default();
    text.split('\0').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn variable(entry: &str) -> Option<(String, String)> {
    let (name, value) = entry.split_once('=')?;
    let value = if RECORDED_VARIABLES.contains(&name) {
        secrets::mask(value.split(' ')).join(" ")
    } else {
        NOT_RECORDED.to_owned()
    };
    Some((name.to_owned(), value))
}

fn status_line(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once(':')?;
    STATUS_LINES.contains(&name).then(|| (name.to_owned(), value.trim().to_owned()))
}

/// Whether a process has a file mapped whose name begins so: a version may follow. None where its maps cannot be read.
pub(crate) fn has_mapped(root: &Root, pid: u32, file_name: &str) -> Option<bool> {
    let files = mapped_files(root, &format!("/proc/{pid}"));
    let is_it = |path: &String| {
        // Before glibc 2.34 that name is a link, and the maps have the file's own.
        let is_libc = file_name == "libc.so.6" && libc::is_libc(path);
        is_libc || path.rsplit('/').next().is_some_and(|name| name.starts_with(file_name))
    };
    (!files.is_empty()).then(|| files.iter().any(is_it))
}

/// The mapped files of a process, each once.
fn mapped_files(root: &Root, dir: &str) -> Vec<String> {
    let maps = MemoryMaps::from_file(root.path(format!("{dir}/maps"))).map(|maps| maps.0).unwrap_or_default();
    let mut files: Vec<String> = maps
        .into_iter()
        .filter_map(|map| match map.pathname {
            MMapPath::Path(path) => Some(path.to_string_lossy().into_owned()),
            _ => None,
        })
        .collect();
    files.dedup();
    files
}

fn build_id(program: &Path) -> Option<String> {
    use std::fmt::Write;
    let cache = object::ReadCache::new(File::open(program).ok()?);
    let file = object::File::parse(&cache).ok()?;
    let mut hex = String::new();
    for byte in file.build_id().ok()?? {
        write!(hex, "{byte:02x}").expect("write to a string");
    }
    Some(hex)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};

    #[test]
    fn a_child_process_has_facts() -> std::io::Result<()> {
        let mut child = Command::new("/bin/cat")
            .arg("-u")
            .env("LC_ALL", "C")
            .env("MY_TOKEN", "hunter2")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (mut to, mut from) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        // The command line may be missing just after spawn. The echoed byte shows that exec is complete.
        to.write_all(b"?")?;
        from.read_exact(&mut [0])?;
        let facts = ProcessFacts::read(&Root::new("/"), child.id());
        drop(to);
        child.wait()?;
        let facts = facts.expect("the child runs");
        assert_eq!(facts.command_line, ["/bin/cat", "-u"]);
        assert_eq!(facts.environment["LC_ALL"], "C");
        assert_eq!(facts.environment["MY_TOKEN"], NOT_RECORDED);
        assert!(facts.executable.is_some_and(|path| path.starts_with('/')));
        assert!(facts.limits.contains_key("Max open files") && facts.status.contains_key("Seccomp"));
        Ok(())
    }

    #[test]
    fn this_program_has_an_allocator_and_a_c_library() {
        let facts = ProcessFacts::read(&Root::new("/"), std::process::id()).expect("this process runs");
        let allocator = facts.allocator.expect("every program has an allocator").name;
        assert!(matches!(&*allocator, "glibc malloc" | "musl malloc"), "{allocator}");
        assert!(facts.libc.is_some_and(|libc| libc.starts_with("glibc") || libc == "musl"));
        assert!(facts.build_id.is_none_or(|id| id.len() >= 16));
    }

    #[test]
    fn a_missing_process_has_no_facts() {
        assert_eq!(ProcessFacts::read(&Root::new("/"), 0), None);
    }
}
