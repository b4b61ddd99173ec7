//! Memory and swap: `/proc/meminfo`, `/proc/vmstat`.

use procfs::{FromRead, Meminfo, VmStat};

use super::Readings;
use crate::root::Root;

pub(super) fn read(root: &Root, out: &mut Readings) {
    if let Ok(info) = Meminfo::from_file(root.path("/proc/meminfo")) {
        let mut gauge = |name: &str, help, bytes: u64| out.gauge(name, "B", help, bytes as f64);
        if let Some(available) = info.mem_available {
            gauge("memory.available", "Memory available to programs without swapping", available);
        }
        gauge("memory.cached", "File contents in the page cache", info.cached);
        gauge("memory.dirty", "Page cache that must be written to disk", info.dirty);
        gauge("memory.writeback", "Page cache that is being written to disk", info.writeback);
        gauge("swap.used", "Swap space in use", info.swap_total.saturating_sub(info.swap_free));
    }
    let page_bytes = rustix::param::page_size() as f64;
    let counters = VmStat::from_file(root.path("/proc/vmstat")).map(|stat| stat.0).unwrap_or_default();
    let value = |name: &str| counters.get(name).map(|&value| value as f64);
    if let Some(pages) = value("pswpin") {
        out.counter("swap.in", "B/s", "Memory read back from swap space", pages * page_bytes);
    }
    if let Some(pages) = value("pswpout") {
        out.counter("swap.out", "B/s", "Memory written to swap space", pages * page_bytes);
    }
    if let Some(faults) = value("pgmajfault") {
        out.counter("memory.major_faults", "1/s", "Page faults that needed disk I/O", faults);
    }
    // Linux before 5.9 has one counter, of files.
    let refaults = ["workingset_refault_anon", "workingset_refault_file", "workingset_refault"];
    let refaults: Vec<f64> = refaults.into_iter().filter_map(value).collect();
    if !refaults.is_empty() {
        let pages = refaults.into_iter().sum();
        out.counter("memory.refaults", "1/s", "Pages read again that memory had not kept", pages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::fake_root;

    #[test]
    fn pages_become_bytes() {
        let (_dir, root) = fake_root(&[(
            "/proc/vmstat",
            "nr_free_pages 1\npswpout 3\npgmajfault 4\nworkingset_refault_anon 5\nworkingset_refault_file 6\n",
        )]);
        let mut out = Readings::default();
        read(&root, &mut out);
        assert_eq!(out.raw("swap.out"), Some(3.0 * rustix::param::page_size() as f64));
        assert_eq!(out.raw("memory.major_faults"), Some(4.0));
        assert_eq!(out.raw("memory.refaults"), Some(11.0));
        assert_eq!((out.raw("swap.in"), out.raw("memory.cached")), (None, None));
    }
}
