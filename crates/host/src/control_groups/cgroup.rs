//! The limits of this process's control groups, in versions 1 and 2 of the interface.
//!
//! Any group above this process's group may have a limit, so the lowest limit on the path to the root applies
//! (cgroup-v2.rst, "Top-down Constraint").

use std::path::{Path, PathBuf};

use procfs::process::MountInfos;
use procfs::{FromRead, ProcessCGroups};
use serde::{Deserialize, Serialize};

use crate::root::Root;

/// The limits of this process's control groups. `None` means no limit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CgroupLimits {
    /// CPU time, in CPUs: 1.5 means 150 ms of CPU time in each 100 ms.
    pub cpus: Option<f64>,
    /// Memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// The number of processes and threads.
    pub tasks: Option<u64>,
}

impl CgroupLimits {
    pub(crate) fn read(root: &Root) -> Self {
        let hierarchies = hierarchies(root, "self");
        let read = |dir: &Path, file: &str| root.read(dir.join(file));
        Self {
            cpus: lowest(&hierarchies, "cpu", |dir| {
                let v1 = || {
                    Some(format!("{} {}", read(dir, "cpu.cfs_quota_us")?, read(dir, "cpu.cfs_period_us")?))
                };
                quota(&read(dir, "cpu.max").or_else(v1)?)
            }),
            memory_bytes: lowest(&hierarchies, "memory", |dir| {
                bytes(&read(dir, "memory.max").or_else(|| read(dir, "memory.limit_in_bytes"))?)
            }),
            tasks: lowest(&hierarchies, "pids", |dir| read(dir, "pids.max")?.parse().ok()),
        }
    }
}

/// Parses "quota period" into CPUs. A quota of "max" or -1 means no limit.
fn quota(text: &str) -> Option<f64> {
    let (quota_us, period_us) = text.split_once(' ')?;
    let (quota_us, period_us): (f64, f64) = (quota_us.parse().ok()?, period_us.parse().ok()?);
    (quota_us > 0.0 && period_us > 0.0).then(|| quota_us / period_us)
}

/// Parses bytes. "max" means no limit; version 1 writes the largest multiple of the page size instead.
fn bytes(text: &str) -> Option<u64> {
    text.parse().ok().filter(|&bytes| bytes < 1 << 62)
}

/// A cgroup hierarchy that a process belongs to.
pub(crate) struct Hierarchy {
    /// Its controllers. Empty in version 2, where one hierarchy has all controllers.
    pub controllers: Vec<String>,
    mount: PathBuf,
    /// The directory of the process's group, below `mount`.
    pub group: PathBuf,
}

impl Hierarchy {
    /// Whether it accounts for a controller. Version 2 has one hierarchy for all.
    pub fn has(&self, controller: &str) -> bool {
        self.controllers.is_empty() || self.controllers.iter().any(|name| name == controller)
    }

    /// The process's group and all above it.
    pub fn groups(&self) -> impl Iterator<Item = &Path> {
        self.group.ancestors().take_while(|directory| directory.starts_with(&self.mount))
    }
}

/// The hierarchies of a process, which is `self` or the number of one. None where it has ended.
pub(crate) fn hierarchies(root: &Root, process: &str) -> Vec<Hierarchy> {
    let groups = ProcessCGroups::from_file(root.path(format!("/proc/{process}/cgroup")));
    let mounts = MountInfos::from_file(root.path("/proc/self/mountinfo"));
    let (Ok(groups), Ok(mounts)) = (groups, mounts) else { return Vec::new() };
    let hierarchy = |group: procfs::ProcessCGroup| {
        let mount = mounts.iter().find(|mount| match group.controllers.first() {
            None => mount.fs_type == "cgroup2",
            Some(controller) => mount.fs_type == "cgroup" && mount.super_options.contains_key(controller),
        })?;
        // In a container the mount may show only a subtree; the group's path then starts with the subtree's root.
        let below = Path::new(&group.pathname).strip_prefix(&mount.root).unwrap_or(Path::new(""));
        let group_dir = mount.mount_point.join(below);
        Some(Hierarchy { controllers: group.controllers, mount: mount.mount_point.clone(), group: group_dir })
    };
    groups.0.into_iter().filter_map(hierarchy).collect()
}

/// How many processes of this process's own group the kernel has ended for lack of memory; with those of the groups below it
/// in version 2.
pub(crate) fn memory_kills(root: &Root) -> Option<u64> {
    let all = hierarchies(root, "self");
    all.iter().filter(|hierarchy| hierarchy.has("memory")).find_map(|hierarchy| {
        let read = |file: &str| root.read(hierarchy.group.join(file));
        let text = read("memory.events").or_else(|| read("memory.oom_control"))?;
        counter(&text, "oom_kill")
    })
}

/// A counter in a text of lines "name value".
pub(crate) fn counter(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// The lowest limit for this controller, over this process's groups and all groups above them.
fn lowest<T: PartialOrd>(
    hierarchies: &[Hierarchy],
    controller: &str,
    limit: impl Fn(&Path) -> Option<T>,
) -> Option<T> {
    hierarchies
        .iter()
        .filter(|hierarchy| hierarchy.has(controller))
        .flat_map(Hierarchy::groups)
        .filter_map(limit)
        .reduce(|lowest, limit| if limit < lowest { limit } else { lowest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::fake_root;

    #[test]
    fn version_2_applies_the_lowest_limit_of_all_groups_above() {
        let (_dir, root) = fake_root(&[
            ("/proc/self/cgroup", "0::/user.slice/job\n"),
            ("/proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("/sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n"),
            ("/sys/fs/cgroup/user.slice/job/memory.max", "2147483648\n"),
            ("/sys/fs/cgroup/user.slice/job/pids.max", "max\n"),
            ("/sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n"),
            ("/sys/fs/cgroup/user.slice/memory.max", "1073741824\n"),
        ]);
        let limits = CgroupLimits { cpus: Some(1.5), memory_bytes: Some(1 << 30), tasks: None };
        assert_eq!(CgroupLimits::read(&root), limits);
    }

    #[test]
    fn version_1_in_a_container_is_read_from_the_mounted_subtree() {
        let (_dir, root) = fake_root(&[
            ("/proc/self/cgroup", "4:memory:/docker/1f\n3:cpu,cpuacct:/docker/1f\n"),
            (
                "/proc/self/mountinfo",
                "36 31 0:32 /docker/1f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n\
                 37 31 0:33 /docker/1f /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n",
            ),
            ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"),
            ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ]);
        assert_eq!(
            CgroupLimits::read(&root),
            CgroupLimits { cpus: Some(0.5), memory_bytes: None, tasks: None }
        );
    }

    #[test]
    fn limits_of_this_machine_are_absent_or_positive() {
        let limits = CgroupLimits::read(&Root::new("/"));
        assert!(limits.cpus.is_none_or(|cpus| cpus > 0.0), "{limits:?}");
    }
}
