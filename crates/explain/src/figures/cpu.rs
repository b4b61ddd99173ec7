//! Figures of CPU time: of the server, of its CPUs, of the kernel's work, of other programs and of the hypervisor.

use machine::part_columns;

use super::plain::Plain;
use super::set::{Figures, Kind, NUMBER, SHARE};
use super::text::with_unit;

/// The figure of CPU time an operation.
pub const CPU_PER_OPERATION: &str = "server.cpu_per_op";
/// The figure of the kernel's share of it.
pub const CPU_IN_KERNEL: &str = "server.kernel";

const CLOCKS: &str = "CPU clocks of the server's processes";
const PROC_STAT: &str = "/proc/stat";

/// The parts of a server of several processes with their shares of its CPU time, the largest first: ` (database 62 %, server 38 %)`.
/// Empty for a server of one part.
fn parts_text(plain: &Plain<'_>) -> String {
    let names = plain.instances(part_columns("server", "").trim_end_matches('.'), "cpu.time");
    let mut parts: Vec<(String, f64)> = Vec::new();
    for name in names {
        let cores = plain.column(&format!("{}.cpu.time", part_columns("server", &name)));
        parts.push((name, cores.unwrap_or_default()));
    }
    let whole = parts.iter().map(|(_, cores)| cores).sum::<f64>();
    if parts.is_empty() || whole <= 0.0 {
        return String::new();
    }
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let shares: Vec<String> =
        parts.iter().map(|(name, cores)| format!("{name} {}", with_unit(cores / whole, SHARE))).collect();
    format!(" ({})", shares.join(", "))
}

/// Adds them.
pub(super) fn add(plain: &Plain<'_>, figures: &mut Figures) {
    let cpus: Vec<usize> = plain.facts.server_cpus.iter().collect();
    let count = cpus.len().max(1) as f64;
    let cores = plain.total(|reading| reading.server_cpu_s) / plain.length_s();
    let of_server = |unit| Kind { unit, source: CLOCKS };
    figures.add("server.cores", Some(cores), of_server("cores"), "CPU time of the server per second");
    figures.add("server_cpus.count", Some(count), of_server(NUMBER), "CPUs of the server");
    let per_operation = cores / plain.ended_per_s() * 1e6;
    figures.add(
        CPU_PER_OPERATION,
        Some(per_operation),
        of_server("µs"),
        "CPU time of the server for each operation",
    );
    figures.add_text("server.parts", parts_text(plain));
    let used = cores / count;
    figures.add("server_cpus.used", Some(used), of_server(SHARE), "share of its CPUs that the server used");
    let modes = plain.column("server.cpu.user").zip(plain.column("server.cpu.system"));
    let in_kernel = modes.map(|(user, system)| system / (user + system));
    let of_modes = Kind { unit: SHARE, source: "/proc/PID/stat" };
    figures.add(CPU_IN_KERNEL, in_kernel, of_modes, "share of the server's CPU time in the kernel");

    let of_cpus = Kind { unit: SHARE, source: PROC_STAT };
    let state = |cpu: usize, state: &str| plain.column(&format!("cpu.{cpu}.{state}"));
    let busy_of = |cpu: &usize| {
        let waiting = state(*cpu, "iowait").unwrap_or(0.0);
        Some((1.0 - state(*cpu, "idle")? - waiting).clamp(0.0, 1.0))
    };
    let busy: Option<Vec<f64>> = cpus.iter().map(busy_of).collect();
    let mean_busy = busy.as_ref().map(|busy| busy.iter().sum::<f64>() / count);
    figures.add(
        "server_cpus.busy",
        mean_busy,
        of_cpus,
        "share of the time in which the server's CPUs were busy",
    );
    if let Some(busy) = &busy
        && let Some((at, busiest)) = busy.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))
    {
        figures.add(
            "server_cpus.busiest",
            Some(*busiest),
            of_cpus,
            "time in which the server's busiest CPU was busy",
        );
        figures.add_text("server_cpus.busiest_name", cpus[at].to_string());
        let rest = (busy.len() > 1).then(|| (busy.iter().sum::<f64>() - busiest) / (count - 1.0));
        figures.add("server_cpus.rest", rest, of_cpus, "time in which its other CPUs were busy");
    }
    let mean_of = |states: &[&str]| {
        let each = cpus.iter().flat_map(|cpu| states.iter().map(|name| state(*cpu, name)));
        each.sum::<Option<f64>>().map(|cores| cores / count)
    };
    let interrupts = mean_of(&["irq", "softirq"]);
    figures.add(
        "server_cpus.interrupts",
        interrupts,
        of_cpus,
        "share of the server's CPUs in interrupts, such as the network receive path",
    );
    let each_interrupts = cpus
        .iter()
        .filter_map(|cpu| Some(state(*cpu, "irq")? + state(*cpu, "softirq")?))
        .max_by(f64::total_cmp);
    figures.add(
        "server_cpus.busiest_interrupts",
        each_interrupts,
        of_cpus,
        "share of one CPU in interrupts, where that is largest",
    );
    let steal = mean_of(&["steal"]);
    figures.add("server_cpus.steal", steal, of_cpus, "share of the server's CPUs that the hypervisor took");

    // Other programs may run on other CPUs: what they use counts up to what the server and the hypervisor have left. The time of
    // interrupts is not subtracted: most kernels count it as CPU time of the program that they interrupt, so the server's has it.
    let unaccounted = mean_busy.map(|busy| busy - used - steal.unwrap_or(0.0));
    let others = plain.column("programs.others").zip(unaccounted);
    let others = others.map(|(others, unaccounted)| (others / count).min(unaccounted).max(0.0));
    let of_programs = Kind { unit: SHARE, source: "/proc/PID/stat and /proc/stat" };
    figures.add(
        "server_cpus.others",
        others,
        of_programs,
        "share of the server's CPUs that other programs used",
    );
    let busiest =
        plain.readings.iter().flat_map(|reading| &reading.telemetry.others).max_by_key(|other| other.cpu);
    if let Some(other) = busiest {
        figures.add_text("others.busiest", format!("{} (pid {})", other.command, other.pid));
    }
    let waiting = plain.pressure("cpu");
    let of_pressure = Kind { unit: SHARE, source: "/proc/pressure/cpu" };
    figures.add(
        "run_queue.waiting",
        waiting,
        of_pressure,
        "share of the time in which a task waited for a CPU",
    );
    let throttles = Kind { unit: "1/s", source: "/sys/devices/system/cpu" };
    figures.add(
        "cpu.throttles",
        plain.column("cpu.throttles"),
        throttles,
        "times that the CPU slowed down because of heat",
    );
}
