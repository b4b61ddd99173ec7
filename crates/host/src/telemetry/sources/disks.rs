//! Disks: `/proc/diskstats` (iostats.rst), without partitions.

use procfs::{DiskStats, FromRead};

use super::Readings;
use crate::root::Root;

/// The unit of `/proc/diskstats`, whatever the disk's sector size is.
const SECTOR_BYTES: f64 = 512.0;

pub(super) fn read(root: &Root, out: &mut Readings) {
    let Ok(DiskStats(disks)) = DiskStats::from_file(root.path("/proc/diskstats")) else { return };
    let is_used = |disk: &procfs::DiskStat| disk.reads + disk.writes > 0;
    for disk in disks.iter().filter(|disk| is_used(disk) && is_whole(root, &disk.name)) {
        let mut counter = |name: &str, unit, help, total: f64| {
            out.counter(format!("disk.{}.{name}", disk.name), unit, help, total);
        };
        counter("read_bytes", "B/s", "Bytes read", disk.sectors_read as f64 * SECTOR_BYTES);
        counter("reads", "1/s", "Reads completed", disk.reads as f64);
        counter("written_bytes", "B/s", "Bytes written", disk.sectors_written as f64 * SECTOR_BYTES);
        counter("writes", "1/s", "Writes completed", disk.writes as f64);
        counter(
            "busy",
            "share",
            "Share of the time with requests in progress",
            disk.time_in_progress as f64 / 1e3,
        );
        let queue = disk.weighted_time_in_progress as f64 / 1e3;
        counter("queue", "1", "Mean number of requests in progress", queue);
    }
}

fn is_whole(root: &Root, disk: &str) -> bool {
    root.path("/sys/block").join(disk.replace('/', "!")).exists()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::fake_root;

    #[test]
    fn only_whole_disks_that_were_used_have_values() {
        let (_dir, root) = fake_root(&[
            (
                "/proc/diskstats",
                "   7 0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n 254 0 vda 9 0 8 0 3 0 4 0 0 2500 5000 0 0 0 0 0 0\n \
                 254 1 vda1 9 0 8 0 3 0 4 0 0 2500 5000 0 0 0 0 0 0\n",
            ),
            ("/sys/block/vda/size", "1"),
            ("/sys/block/loop0/size", "1"),
        ]);
        let mut out = Readings::default();
        read(&root, &mut out);
        assert_eq!((out.raw("disk.vda.read_bytes"), out.raw("disk.vda.busy")), (Some(4096.0), Some(2.5)));
        assert_eq!((out.raw("disk.loop0.reads"), out.raw("disk.vda1.reads")), (None, None));
    }
}
