//! Memory: how much, swap, and huge pages.

use std::collections::BTreeMap;

use procfs::{FromRead, Meminfo};
use serde::{Deserialize, Serialize};

use crate::root::Root;

const THP: &str = "/sys/kernel/mm/transparent_hugepage";

/// Memory and swap.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryFacts {
    /// Usable memory.
    pub total_bytes: u64,
    /// Swap space.
    pub swap_total_bytes: u64,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub thp: Option<String>,
    /// When a page fault may wait for compaction.
    pub thp_defrag: Option<String>,
    /// The settings of smaller sizes (Linux 6.9 and later) that are not `never`.
    pub thp_sizes: BTreeMap<String, String>,
    /// Reserved huge pages.
    pub huge_pages: Option<u64>,
    /// The size of one.
    pub huge_page_bytes: Option<u64>,
    /// Kernel samepage merging: 1 when it runs.
    pub ksm: Option<String>,
}

impl MemoryFacts {
    pub(super) fn read(root: &Root) -> Self {
        let info = Meminfo::from_file(root.path("/proc/meminfo")).ok();
        let sizes = root.list(THP).into_iter().filter(|name| name.starts_with("hugepages-"));
        let enabled = |name: &String| root.choice(format!("{THP}/{name}/enabled"));
        Self {
            total_bytes: info.as_ref().map_or(0, |info| info.mem_total),
            swap_total_bytes: info.as_ref().map_or(0, |info| info.swap_total),
            thp: root.choice(format!("{THP}/enabled")),
            thp_defrag: root.choice(format!("{THP}/defrag")),
            thp_sizes: sizes
                .filter_map(|name| enabled(&name).map(|enabled| (name, enabled)))
                .filter(|(_, enabled)| enabled != "never")
                .collect(),
            huge_pages: info.as_ref().and_then(|info| info.hugepages_total),
            huge_page_bytes: info.and_then(|info| info.hugepagesize),
            ksm: root.read("/sys/kernel/mm/ksm/run"),
        }
    }
}

/// The share of the memory that programs can still get without swap.
pub(crate) fn available_memory_share(root: &Root) -> Option<f64> {
    let info = Meminfo::from_file(root.path("/proc/meminfo")).ok()?;
    Some(info.mem_available? as f64 / info.mem_total.max(1) as f64)
}

/// The bytes of memory and swap space that programs can still get. None where the kernel does not report them.
pub(crate) fn free_memory_and_swap(root: &Root) -> Option<u64> {
    let info = Meminfo::from_file(root.path("/proc/meminfo")).ok()?;
    Some(info.mem_available?.saturating_add(info.swap_free))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::fake_root;

    #[test]
    fn the_fact_is_the_selected_choice() {
        let (_dir, root) = fake_root(&[
            ("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            (
                "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled",
                "always [inherit] madvise never\n",
            ),
            (
                "/sys/kernel/mm/transparent_hugepage/hugepages-16kB/enabled",
                "always inherit madvise [never]\n",
            ),
        ]);
        let memory = MemoryFacts::read(&root);
        assert_eq!(memory.thp.as_deref(), Some("madvise"));
        assert_eq!(memory.thp_sizes, BTreeMap::from([("hugepages-64kB".into(), "inherit".into())]));
    }
}
