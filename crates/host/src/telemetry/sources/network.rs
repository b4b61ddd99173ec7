//! Network interfaces and the receive path: `/proc/net/dev`, `/proc/net/softnet_stat` (procfs does not parse the
//! latter).

use procfs::FromRead;
use procfs::net::InterfaceDeviceStatus;

use super::Readings;
use crate::root::Root;

pub(super) fn read(root: &Root, out: &mut Readings) {
    if let Ok(InterfaceDeviceStatus(interfaces)) =
        InterfaceDeviceStatus::from_file(root.path("/proc/net/dev"))
    {
        let mut used: Vec<_> =
            interfaces.into_values().filter(|i| i.recv_packets + i.sent_packets > 0).collect();
        used.sort_by(|a, b| a.name.cmp(&b.name));
        for interface in used {
            let mut counter = |name: &str, unit, help, total: u64| {
                out.counter(format!("net.{}.{name}", interface.name), unit, help, total as f64);
            };
            counter("received_bytes", "B/s", "Bytes received", interface.recv_bytes);
            counter("received_packets", "1/s", "Packets received", interface.recv_packets);
            counter("received_dropped", "1/s", "Received packets that were dropped", interface.recv_drop);
            counter("received_errors", "1/s", "Packets received with errors", interface.recv_errs);
            counter("sent_bytes", "B/s", "Bytes sent", interface.sent_bytes);
            counter("sent_packets", "1/s", "Packets sent", interface.sent_packets);
            counter("sent_dropped", "1/s", "Packets dropped before transmission", interface.sent_drop);
            counter("sent_errors", "1/s", "Transmission errors", interface.sent_errs);
        }
    }
    softnet(root, out);
}

/// Sums the counters over the CPUs. The file has a line of hexadecimal numbers for each CPU: processed, dropped,
/// time squeezed, and others (`softnet_seq_show` in net/core/net-procfs.c).
fn softnet(root: &Root, out: &mut Readings) {
    let text = root.read("/proc/net/softnet_stat").unwrap_or_default();
    let mut sums: Option<[f64; 3]> = None;
    for line in text.lines() {
        let sums = sums.get_or_insert_default();
        for (sum, field) in sums.iter_mut().zip(line.split_ascii_whitespace()) {
            *sum += u32::from_str_radix(field, 16).map_or(0.0, f64::from);
        }
    }
    if let Some([processed, dropped, squeezed]) = sums {
        out.counter("softnet.processed", "1/s", "Packets processed by the receive path", processed);
        out.counter(
            "softnet.dropped",
            "1/s",
            "Packets dropped because the backlog of a CPU was full",
            dropped,
        );
        let help = "Times that the receive path used up its budget with packets left (netdev_budget)";
        out.counter("softnet.squeezed", "1/s", help, squeezed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::fake_root;

    #[test]
    fn used_interfaces_have_values_and_cpus_are_summed() {
        let (_dir, root) = fake_root(&[
            (
                "/proc/net/dev",
                "Inter-|   Receive\n face |bytes\n    lo: 10 2 0 1 0 0 0 0 20 3 0 0 0 0 0 0\n  ifb0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
            ),
            (
                "/proc/net/softnet_stat",
                "00000010 00000001 00000000 00000000\n000000ff 00000000 00000002 00000000\n",
            ),
        ]);
        let mut out = Readings::default();
        read(&root, &mut out);
        assert_eq!(out.raw("net.lo.received_bytes"), Some(10.0));
        assert_eq!(out.raw("net.lo.received_dropped"), Some(1.0));
        assert_eq!(out.raw("net.lo.sent_packets"), Some(3.0));
        assert_eq!(out.raw("net.ifb0.sent_bytes"), None);
        assert_eq!(out.raw("softnet.processed"), Some(271.0));
        assert_eq!(out.raw("softnet.squeezed"), Some(2.0));
    }
}
