//! CPU time by CPU and state, run queue, context switches and interrupts: `/proc/stat`, `/proc/loadavg`.

use procfs::{CpuTime, FromBufReadSI, FromRead, KernelStats, LoadAverage};

use super::Readings;
use crate::affinity;
use crate::root::Root;

pub(super) fn read(root: &Root, out: &mut Readings) {
    let text = root.read("/proc/stat").unwrap_or_default();
    if let Ok(stats) = KernelStats::from_buf_read(text.as_bytes(), procfs::current_system_info()) {
        cpu_times("cpu", &stats.total, out);
        for (cpu, time) in cpu_numbers(root, stats.cpu_time.len()).into_iter().zip(&stats.cpu_time) {
            cpu_times(&format!("cpu.{cpu}"), time, out);
        }
        out.counter("context_switches", "1/s", "Context switches", stats.ctxt as f64);
        out.counter("forks", "1/s", "Processes and threads created", stats.processes as f64);
        if let Some(tasks) = stats.procs_running {
            out.gauge("runnable", "1", "Tasks that run or wait in a run queue", tasks.into());
        }
        if let Some(tasks) = stats.procs_blocked {
            out.gauge("blocked", "1", "Tasks that wait for disk I/O", tasks.into());
        }
    }
    // procfs does not parse these two lines.
    let first_number = |name| text.lines().find_map(|line| first_number_after(line, name));
    if let Some(count) = first_number("intr") {
        out.counter("interrupts", "1/s", "Interrupts handled", count);
    }
    if let Some(count) = first_number("softirq") {
        out.counter("softirqs", "1/s", "Soft interrupts handled", count);
    }
    if let Ok(load) = LoadAverage::from_file(root.path("/proc/loadavg")) {
        // The file has two decimals, which procfs reads as f32.
        let one_minute = (f64::from(load.one) * 100.0).round() / 100.0;
        out.gauge("load1", "1", "Load average over one minute", one_minute);
    }
}

/// CPU time by state (`proc_stat(5)`). The kernel includes the time of guests in user time.
fn cpu_times(prefix: &str, time: &CpuTime, out: &mut Readings) {
    let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
    let states = [
        ("user", "CPU time in programs", Some(time.user)),
        ("nice", "CPU time in programs of low priority", Some(time.nice)),
        ("system", "CPU time in the kernel, on behalf of programs", Some(time.system)),
        ("idle", "CPU time without work", Some(time.idle)),
        ("iowait", "CPU time without work while a task waits for disk I/O", time.iowait),
        ("irq", "CPU time in interrupt handlers", time.irq),
        ("softirq", "CPU time in soft interrupts, such as the network receive path", time.softirq),
        ("steal", "CPU time that the hypervisor gave to other virtual machines", time.steal),
    ];
    for (state, help, ticks) in states {
        if let Some(ticks) = ticks {
            out.counter(format!("{prefix}.{state}"), "cores", help, ticks as f64 / ticks_per_second);
        }
    }
}

/// The numbers of the CPUs in `/proc/stat`, which lists the online CPUs in ascending order. procfs drops the numbers.
fn cpu_numbers(root: &Root, count: usize) -> Vec<usize> {
    let online = affinity::online(root);
    if online.len() == count { online.iter().collect() } else { (0..count).collect() }
}

fn first_number_after(line: &str, name: &str) -> Option<f64> {
    line.strip_prefix(name)?.strip_prefix(' ')?.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::fake_root;

    #[test]
    fn cpu_time_is_read_by_state_for_each_cpu_and_in_total() {
        let (_dir, root) = fake_root(&[
            ("/sys/devices/system/cpu/online", "3\n"),
            (
                "/proc/stat",
                "cpu  300 0 0 0 0 0 0 0 0 0\ncpu3 100 2 3 4 5 6 7 800 9 9\nintr 42 1 2\nctxt 77\n\
                 btime 1\nprocesses 6\nprocs_running 5\nsoftirq 9 1\n",
            ),
            ("/proc/loadavg", "0.37 0.40 0.30 1/99 1234\n"),
        ]);
        let mut out = Readings::default();
        read(&root, &mut out);
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        assert_eq!(out.raw("cpu.user"), Some(300.0 / ticks));
        assert_eq!(out.raw("cpu.3.steal"), Some(800.0 / ticks));
        assert_eq!(out.raw("cpu.0.user"), None);
        let rest = ["interrupts", "context_switches", "forks", "runnable", "softirqs", "load1"]
            .map(|name| out.raw(name));
        assert_eq!(rest, [42.0, 77.0, 6.0, 5.0, 9.0, 0.37].map(Some));
    }
}
