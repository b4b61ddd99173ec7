//! CPU time by core and kind, the run queue, context switches and interrupts: `/proc/stat`, `/proc/loadavg`.

use super::Readings;
use crate::root::Root;

/// The kinds of CPU time in the order of `/proc/stat` (`proc_stat(5)`). The kernel counts time for guests in
/// user time already.
const KINDS: [(&str, &str); 8] = [
    ("user", "CPU time in programs"),
    ("nice", "CPU time in programs of low priority"),
    ("system", "CPU time in the kernel, on behalf of programs"),
    ("idle", "CPU time with nothing to do"),
    ("iowait", "CPU time with nothing to do but to wait for a disk"),
    ("irq", "CPU time in interrupts"),
    ("softirq", "CPU time in soft interrupts, such as the network's receive path"),
    ("steal", "CPU time that the hypervisor gave to others"),
];

pub(super) fn read(root: &Root, out: &mut Readings) {
    let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
    let text = root.read("/proc/stat").unwrap_or_default();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let name = words.next().unwrap_or_default();
        let mut numbers = words.map_while(|word| word.parse::<f64>().ok());
        if let Some(number) = name.strip_prefix("cpu") {
            let cpu = if number.is_empty() { "cpu".to_owned() } else { format!("cpu.{number}") };
            for ((kind, help), ticks) in KINDS.iter().zip(numbers) {
                out.counter(format!("{cpu}.{kind}"), "cores", help, ticks / ticks_per_second);
            }
        } else if let Some(first) = numbers.next() {
            match name {
                "ctxt" => out.counter("context_switches", "1/s", "Switches from one task to another", first),
                "intr" => out.counter("interrupts", "1/s", "Interrupts served", first),
                "softirq" => out.counter("softirqs", "1/s", "Soft interrupts served", first),
                "processes" => out.counter("forks", "1/s", "Processes and threads started", first),
                "procs_running" => out.gauge("runnable", "1", "Tasks that run or wait for a CPU", first),
                "procs_blocked" => out.gauge("blocked", "1", "Tasks that wait for a disk", first),
                _ => {}
            }
        }
    }
    let load = root.read("/proc/loadavg").unwrap_or_default();
    if let Some(one_minute) = load.split(' ').next().and_then(|word| word.parse().ok()) {
        out.gauge("load1", "1", "Load average over one minute", one_minute);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::stand_in;

    #[test]
    fn kinds_by_core_and_over_all() {
        let (_dir, root) = stand_in(&[
            (
                "/proc/stat",
                "cpu  300 0 0 0 0 0 0 0 0 0\ncpu3 100 2 3 4 5 6 7 800 9 9\nintr 42 1 2\nctxt 77\n\
                 btime 1\nprocs_running 5\nsoftirq 9 1\n",
            ),
            ("/proc/loadavg", "0.50 0.40 0.30 1/99 1234\n"),
        ]);
        let mut out = Readings::default();
        read(&root, &mut out);
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        assert_eq!(out.raw("cpu.user"), Some(300.0 / ticks));
        assert_eq!(out.raw("cpu.3.steal"), Some(800.0 / ticks));
        assert_eq!(out.raw("cpu.0.user"), None);
        let rest =
            ["interrupts", "context_switches", "runnable", "softirqs", "load1"].map(|name| out.raw(name));
        assert_eq!(rest, [42.0, 77.0, 5.0, 9.0, 0.5].map(Some));
    }
}
