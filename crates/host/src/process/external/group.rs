//! The control group that a server has for itself: that of its container, or of its unit.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::list::Processes;
use crate::cgroup::hierarchies;
use crate::root::Root;

/// How deep groups are below that of a server: a container may have a service manager of its own.
const DEEPEST: u32 = 8;

/// The control group of this process, if it is the server's own: this program is not in it, and nothing in it is older than `since`.
/// A session of a user, for one, has processes that have nothing to do with the server.
pub(super) fn own_group(root: &Root, pid: u32, since: u64, processes: &Processes) -> Option<PathBuf> {
    let groups_of = |process: &str| hierarchies(root, process).into_iter().map(|one| root.path(one.group));
    let this_program: Vec<PathBuf> = groups_of("self").collect();
    let is_own = |group: &PathBuf| {
        let members = members_of(group);
        let is_of_server =
            |pid: &i32| processes.get(pid.cast_unsigned()).is_none_or(|stat| stat.starttime >= since);
        !this_program.iter().any(|of_this| of_this.starts_with(group))
            && members.contains(&pid.cast_signed())
            && members.iter().all(is_of_server)
    };
    groups_of(&pid.to_string()).find(is_own)
}

/// The processes of a group and of those below it.
pub(super) fn members_of(group: &Path) -> HashSet<i32> {
    let mut members = HashSet::new();
    collect(group, DEEPEST, &mut members);
    members
}

fn collect(group: &Path, deepest: u32, members: &mut HashSet<i32>) {
    let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    members.extend(text.lines().filter_map(|line| line.trim().parse::<i32>().ok()));
    let below = fs::read_dir(group).into_iter().flatten().flatten();
    let is_directory = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    for entry in below.filter(|_| deepest > 0).filter(is_directory) {
        collect(&entry.path(), deepest - 1, members);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::fake_root;

    const MOUNTS: (&str, &str) =
        ("/proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");

    #[test]
    fn a_container_has_a_group_of_its_own_with_those_below_it() {
        let (dir, root) = fake_root(&[
            MOUNTS,
            ("/proc/self/cgroup", "0::/user.slice/job\n"),
            ("/proc/4000001/cgroup", "0::/system.slice/box\n"),
            ("/sys/fs/cgroup/system.slice/box/cgroup.procs", "4000001\n"),
            ("/sys/fs/cgroup/system.slice/box/workers/cgroup.procs", "4000002\n4000003\n"),
        ]);
        let group = own_group(&root, 4_000_001, 1, &Processes::of(Vec::new())).expect("its own");
        assert_eq!(group, dir.path().join("sys/fs/cgroup/system.slice/box"));
        assert_eq!(members_of(&group), HashSet::from([4_000_001, 4_000_002, 4_000_003]));
    }

    #[test]
    fn a_group_with_this_program_or_with_older_processes_is_not_the_servers() {
        let (_dir, root) = fake_root(&[
            MOUNTS,
            ("/proc/self/cgroup", "0::/session/job\n"),
            ("/proc/4000001/cgroup", "0::/session\n"),
            ("/proc/4000002/cgroup", "0::/other\n"),
            ("/sys/fs/cgroup/session/cgroup.procs", "4000001\n"),
            ("/sys/fs/cgroup/other/cgroup.procs", "4000002\n1\n"),
        ]);
        let processes = Processes::now();
        assert_eq!(own_group(&root, 4_000_001, 0, &processes), None, "this program is below it");
        assert_eq!(own_group(&root, 4_000_002, u64::MAX, &processes), None, "process 1 is older");
        assert!(own_group(&root, 4_000_002, 0, &processes).is_some());
    }
}
