//! What our control groups let us have, in version 1 and 2 of the interface.
//!
//! A limit may be set on any group above ours, so the tightest on the way up counts (cgroup-v2.rst,
//! "Top-down Constraint").

use std::path::{Path, PathBuf};

use procfs::process::MountInfos;
use procfs::{FromRead, ProcessCGroups};
use serde::{Deserialize, Serialize};

use crate::root::Root;

/// The limits of this process's control groups; none where there is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// CPU time in CPUs: 1.5 is 150 ms in each 100 ms.
    pub cpus: Option<f64>,
    /// Memory.
    pub memory_bytes: Option<u64>,
    /// Processes and threads.
    pub tasks: Option<u64>,
}

impl Limits {
    pub(crate) fn read(root: &Root) -> Self {
        let hierarchies = hierarchies(root);
        let read = |dir: &Path, file: &str| root.read(dir.join(file));
        Self {
            cpus: tightest(&hierarchies, "cpu", |dir| {
                let v1 = || {
                    Some(format!("{} {}", read(dir, "cpu.cfs_quota_us")?, read(dir, "cpu.cfs_period_us")?))
                };
                quota(&read(dir, "cpu.max").or_else(v1)?)
            }),
            memory_bytes: tightest(&hierarchies, "memory", |dir| {
                bytes(&read(dir, "memory.max").or_else(|| read(dir, "memory.limit_in_bytes"))?)
            }),
            tasks: tightest(&hierarchies, "pids", |dir| read(dir, "pids.max")?.parse().ok()),
        }
    }
}

/// CPUs from "quota period"; a quota of "max" or -1 is no limit.
fn quota(text: &str) -> Option<f64> {
    let (quota_us, period_us) = text.split_once(' ')?;
    let (quota_us, period_us): (f64, f64) = (quota_us.parse().ok()?, period_us.parse().ok()?);
    (quota_us > 0.0 && period_us > 0.0).then(|| quota_us / period_us)
}

/// "max" is no limit, and version 1 says that with the largest number that is a whole number of pages.
fn bytes(text: &str) -> Option<u64> {
    text.parse().ok().filter(|&bytes| bytes < 1 << 62)
}

/// A tree of groups that we are in.
struct Hierarchy {
    /// What it controls; nothing is named in version 2, where one tree controls all.
    controllers: Vec<String>,
    mount: PathBuf,
    /// Our group's directory, somewhere below `mount`.
    group: PathBuf,
}

fn hierarchies(root: &Root) -> Vec<Hierarchy> {
    let groups = ProcessCGroups::from_file(root.path("/proc/self/cgroup"));
    let mounts = MountInfos::from_file(root.path("/proc/self/mountinfo"));
    let (Ok(groups), Ok(mounts)) = (groups, mounts) else { return Vec::new() };
    let hierarchy = |group: procfs::ProcessCGroup| {
        let mount = mounts.iter().find(|mount| match group.controllers.first() {
            None => mount.fs_type == "cgroup2",
            Some(controller) => mount.fs_type == "cgroup" && mount.super_options.contains_key(controller),
        })?;
        // In a container the mount may show only a part of the tree, which our group's path begins with.
        let below = Path::new(&group.pathname).strip_prefix(&mount.root).unwrap_or(Path::new(""));
        let group_dir = mount.mount_point.join(below);
        Some(Hierarchy { controllers: group.controllers, mount: mount.mount_point.clone(), group: group_dir })
    };
    groups.0.into_iter().filter_map(hierarchy).collect()
}

/// The tightest limit on our groups for this controller and on all groups above them.
fn tightest<T: PartialOrd>(
    hierarchies: &[Hierarchy],
    controller: &str,
    limit: impl Fn(&Path) -> Option<T>,
) -> Option<T> {
    hierarchies
        .iter()
        .filter(|h| h.controllers.is_empty() || h.controllers.iter().any(|name| name == controller))
        .flat_map(|h| h.group.ancestors().take_while(|dir| dir.starts_with(&h.mount)))
        .filter_map(limit)
        .reduce(|tightest, limit| if limit < tightest { limit } else { tightest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::stand_in;

    #[test]
    fn version_2_counts_the_tightest_limit_on_the_way_up() {
        let (_dir, root) = stand_in(&[
            ("/proc/self/cgroup", "0::/user.slice/job\n"),
            ("/proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("/sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n"),
            ("/sys/fs/cgroup/user.slice/job/memory.max", "2147483648\n"),
            ("/sys/fs/cgroup/user.slice/job/pids.max", "max\n"),
            ("/sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n"),
            ("/sys/fs/cgroup/user.slice/memory.max", "1073741824\n"),
        ]);
        let limits = Limits { cpus: Some(1.5), memory_bytes: Some(1 << 30), tasks: None };
        assert_eq!(Limits::read(&root), limits);
    }

    #[test]
    fn version_1_in_a_container_is_read_from_the_part_that_it_shows() {
        let (_dir, root) = stand_in(&[
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
        assert_eq!(Limits::read(&root), Limits { cpus: Some(0.5), memory_bytes: None, tasks: None });
    }

    #[test]
    fn this_machine_has_limits_or_none_but_can_be_asked() {
        let limits = Limits::read(&Root::new("/"));
        assert!(limits.cpus.is_none_or(|cpus| cpus > 0.0), "{limits:?}");
    }
}
