//! CPU frequency and thermal throttling: `/sys/devices/system/cpu/cpu*/`.

use super::Readings;
use crate::affinity;
use crate::root::Root;

pub(super) fn read(root: &Root, out: &mut Readings) {
    let mut throttles = None;
    for cpu in affinity::online(root).iter() {
        let dir = format!("/sys/devices/system/cpu/cpu{cpu}");
        if let Some(khz) = root.parse::<f64>(format!("{dir}/cpufreq/scaling_cur_freq")) {
            out.gauge(format!("cpu.{cpu}.frequency"), "Hz", "Current frequency of the CPU", khz * 1e3);
        }
        if let Some(count) = root.parse::<f64>(format!("{dir}/thermal_throttle/core_throttle_count")) {
            *throttles.get_or_insert(0.0) += count;
        }
    }
    if let Some(count) = throttles {
        out.counter("cpu.throttles", "1/s", "Thermal throttling events, summed over the cores", count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::fake_root;

    #[test]
    fn only_cpus_that_report_a_frequency_have_one() {
        let (_dir, root) = fake_root(&[
            ("/sys/devices/system/cpu/online", "0-1\n"),
            ("/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "2400000\n"),
        ]);
        let mut out = Readings::default();
        read(&root, &mut out);
        assert_eq!(out.raw("cpu.1.frequency"), Some(2.4e9));
        assert_eq!((out.raw("cpu.0.frequency"), out.raw("cpu.throttles")), (None, None));
    }
}
