//! A zone: a control group of the controller cpuset, in version 1 or 2 of the interface. Its processes run on the CPUs of the
//! zone and get memory of their nodes, whatever affinity they ask for. The supervisor of a server makes one and removes it when no
//! process is left.
//!
//! Only a user who may write to the control groups can have one: root, or an owner of a delegated group. Everywhere else the
//! affinity of the server's first process, which its others inherit, is all that divides CPUs.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::thread;
use std::time::{Duration, SystemTime};

use procfs::{FromRead, ProcessCGroups};

use crate::affinity::{CpuSet, cores};
use crate::control_groups::cgroup;
use crate::control_groups::cgroup::Hierarchy;
use crate::root::Root;

/// The begin of the names of all zones.
const PREFIX: &str = "showdown-";
const CPUSET: &str = "cpuset";
const PROCESSES: &str = "cgroup.procs";
/// The kernel removes an ended process from its group a moment after its parent has been told.
const REMOVALS: u32 = 50;
const BETWEEN_REMOVALS: Duration = Duration::from_millis(10);
/// A zone of a supervisor that was killed is removed after this time. A younger one may be about to get its first process.
const ABANDONED: Duration = Duration::from_mins(1);

/// A zone, until it is dropped.
#[derive(Debug)]
pub(crate) struct Zone {
    directory: PathBuf,
}

impl Zone {
    /// Makes the zone of these CPUs. None where this user cannot have one.
    pub fn create(root: &Root, cpus: &CpuSet) -> Option<Self> {
        let parent = parent(&cgroup::hierarchies(root, "self"), root)?;
        remove_abandoned(&parent);
        let unique = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let zone = Self { directory: parent.join(format!("{PREFIX}{}-{unique:x}", process::id())) };
        fs::create_dir(&zone.directory).ok()?;
        let set = |file: &str, text: &str| fs::write(zone.directory.join(file), text);
        let nodes: BTreeSet<usize> = cores(root, cpus).iter().map(|core| core.node).collect();
        let nodes: CpuSet = nodes.into_iter().collect();
        set("cpuset.cpus", &cpus.to_string()).ok()?;
        // A node may have no memory, or none for this group: then that of the group above.
        if set("cpuset.mems", &nodes.to_string()).is_err() {
            let above = fs::read_to_string(parent.join("cpuset.mems")).unwrap_or_default();
            set("cpuset.mems", above.trim()).ok()?;
        }
        Some(zone)
    }

    /// Moves a process into it. Those that it starts later are in it, too.
    pub fn add(&self, pid: u32) -> io::Result<()> {
        fs::write(self.directory.join(PROCESSES), pid.to_string())
    }
}

impl Drop for Zone {
    fn drop(&mut self) {
        for _ in 0..REMOVALS {
            match fs::remove_dir(&self.directory) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => thread::sleep(BETWEEN_REMOVALS),
                // What cannot be removed now is removed by the next zone.
                _ => return,
            }
        }
    }
}

/// The group in which zones are made. In version 1 that is the one of this process; in version 2 one that hands the controller
/// down, which the kernel allows only where no process is in the group itself. None where that would take the server out of a limit
/// of CPU time or memory that holds for the client and for other servers.
fn parent(hierarchies: &[Hierarchy], root: &Root) -> Option<PathBuf> {
    let hands_down = |directory: &&Path| {
        let file = directory.join("cgroup.subtree_control");
        root.read(file).is_some_and(|text| text.split_whitespace().any(|controller| controller == CPUSET))
    };
    let is_limited = |directory: &Path| {
        let has_limit =
            |file: &str| root.read(directory.join(file)).is_some_and(|text| !text.starts_with("max"));
        ["cpu.max", "memory.max"].into_iter().any(has_limit)
    };
    let of = |hierarchy: &Hierarchy| match &hierarchy.controllers[..] {
        [] => {
            let parent = hierarchy.groups().find(hands_down)?;
            let mut own = hierarchy.groups().take_while(|group| *group != parent);
            (!own.any(is_limited)).then(|| parent.to_owned())
        }
        _ => hierarchy.has(CPUSET).then(|| hierarchy.group.clone()),
    };
    hierarchies.iter().find_map(of).map(|directory| root.path(directory))
}

/// Removes zones in which nobody is any more. The kernel keeps those with processes.
fn remove_abandoned(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_zone = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let made = entry.metadata().and_then(|metadata| metadata.modified()).ok();
        let age = made.and_then(|made| made.elapsed().ok());
        if is_zone && age.is_some_and(|age| age > ABANDONED) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// How the kernel keeps a process in a zone, by its `/proc/PID/cgroup`: none where it does not.
pub(crate) fn kind_of(groups: &str) -> Option<&'static str> {
    let groups = ProcessCGroups::from_read(groups.as_bytes()).ok()?.0;
    groups.iter().filter(|group| group.pathname.rsplit('/').any(|part| part.starts_with(PREFIX))).find_map(
        |zone| match &zone.controllers[..] {
            [] => Some("control group v2"),
            controllers => controllers.iter().any(|name| name == CPUSET).then_some("control group v1"),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::fake_root;

    /// What was written into the only zone below a directory.
    fn zone_below(directory: &Path) -> (String, String) {
        let entries = fs::read_dir(directory).expect("a directory").flatten();
        let zone = entries.map(|entry| entry.path()).find(|path| path.to_string_lossy().contains(PREFIX));
        let zone = zone.expect("a zone");
        let read = |file: &str| fs::read_to_string(zone.join(file)).unwrap_or_default();
        (read("cpuset.cpus"), read("cpuset.mems"))
    }

    #[test]
    fn version_1_has_zones_in_the_group_of_this_process() {
        let (dir, root) = fake_root(&[
            ("/proc/self/cgroup", "3:cpuset:/job\n"),
            ("/proc/self/mountinfo", "36 31 0:32 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"),
            ("/sys/fs/cgroup/cpuset/job/cpuset.mems", "0-1\n"),
            ("/sys/devices/system/cpu/cpu2/node1/x", ""),
        ]);
        let zone = Zone::create(&root, &"2-3".parse().expect("CPUs")).expect("a zone");
        let parent = dir.path().join("sys/fs/cgroup/cpuset/job");
        assert_eq!(zone_below(&parent), ("2-3".to_owned(), "0-1".to_owned()));
        zone.add(7).expect("a file of this test");
    }

    #[test]
    fn version_2_has_no_zone_that_would_leave_a_limit() {
        let (_dir, root) = fake_root(&[
            ("/proc/self/cgroup", "0::/user.slice/job\n"),
            ("/proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("/sys/fs/cgroup/user.slice/job/cpu.max", "100000 100000\n"),
            ("/sys/fs/cgroup/cgroup.subtree_control", "cpuset cpu memory\n"),
        ]);
        assert!(Zone::create(&root, &"0".parse().expect("CPUs")).is_none());
    }

    #[test]
    fn version_2_has_zones_where_the_controller_is_handed_down() {
        let (dir, root) = fake_root(&[
            ("/proc/self/cgroup", "0::/user.slice/job\n"),
            ("/proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("/sys/fs/cgroup/user.slice/job/cgroup.subtree_control", "\n"),
            ("/sys/fs/cgroup/user.slice/cgroup.subtree_control", "memory pids\n"),
            ("/sys/fs/cgroup/cgroup.subtree_control", "cpuset cpu memory\n"),
        ]);
        let _zone = Zone::create(&root, &"0".parse().expect("CPUs")).expect("a zone");
        assert_eq!(zone_below(&dir.path().join("sys/fs/cgroup")), ("0".to_owned(), "0".to_owned()));
        let (_dir, without) = fake_root(&[
            ("/proc/self/cgroup", "0::/\n"),
            ("/proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("/sys/fs/cgroup/cgroup.subtree_control", "cpu memory\n"),
        ]);
        assert!(Zone::create(&without, &"0".parse().expect("CPUs")).is_none());
    }

    #[test]
    fn a_process_in_a_zone_is_known_by_its_group() {
        assert_eq!(kind_of("4:memory:/job\n3:cpuset:/job/showdown-9-ab\n"), Some("control group v1"));
        assert_eq!(kind_of("0::/showdown-9-ab\n"), Some("control group v2"));
        assert_eq!(kind_of("4:memory:/showdown-9-ab\n3:cpuset:/\n0::/job\n"), None);
    }
}
