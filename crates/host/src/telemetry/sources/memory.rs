//! Memory and swap: `/proc/meminfo`, `/proc/vmstat`.

use procfs::{FromRead, Meminfo};

use super::Readings;
use crate::root::Root;

pub(super) fn read(root: &Root, out: &mut Readings) {
    if let Ok(info) = Meminfo::from_file(root.path("/proc/meminfo")) {
        let mut gauge = |name: &str, help, bytes: u64| out.gauge(name, "B", help, bytes as f64);
        if let Some(available) = info.mem_available {
            gauge("memory.available", "Memory that programs could have without swapping", available);
        }
        gauge("memory.cached", "Contents of files in memory", info.cached);
        gauge("memory.dirty", "Contents of files that wait to be written to disk", info.dirty);
        gauge("memory.writeback", "Contents of files that are being written to disk", info.writeback);
        gauge("swap.used", "Memory that is in swap space", info.swap_total.saturating_sub(info.swap_free));
    }
    let page_bytes = rustix::param::page_size() as f64;
    let text = root.read("/proc/vmstat").unwrap_or_default();
    for (name, value) in text.lines().filter_map(|line| line.split_once(' ')) {
        let Ok(value) = value.parse::<f64>() else { continue };
        match name {
            "pswpin" => out.counter("swap.in", "B/s", "Memory read back from swap space", value * page_bytes),
            "pswpout" => out.counter("swap.out", "B/s", "Memory written to swap space", value * page_bytes),
            "pgmajfault" => {
                out.counter("memory.major_faults", "1/s", "Page faults that waited for a disk", value);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::stand_in;

    #[test]
    fn pages_and_kilobytes_become_bytes() {
        let (_dir, root) = stand_in(&[("/proc/vmstat", "nr_free_pages 1\npswpout 3\npgmajfault 4\n")]);
        let mut out = Readings::default();
        read(&root, &mut out);
        assert_eq!(out.raw("swap.out"), Some(3.0 * rustix::param::page_size() as f64));
        assert_eq!(out.raw("memory.major_faults"), Some(4.0));
        assert_eq!((out.raw("swap.in"), out.raw("memory.cached")), (None, None));
    }
}
