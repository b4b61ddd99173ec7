//! Makes up telemetry that follows the timeline of a trial.

use crate::{
    model::Trial,
    telemetry::{Column, ColumnInfo, Telemetry},
};

/// The server runs on CPU 0, the client on CPU 1. A throughput of `limit_per_s` saturates CPU 0.
pub(super) fn of(trial: &Trial, limit_per_s: f64, steal: f64) -> Telemetry {
    let t_s: Vec<f64> = trial.timeline.iter().map(|tick| tick.t_s).collect();
    let busy: Vec<f64> =
        trial.timeline.iter().map(|tick| (tick.throughput_per_s / limit_per_s).min(1.0)).collect();
    let column = |name: &str, unit: &str, help: &str, value: &dyn Fn(f64) -> f64| Column {
        info: ColumnInfo { name: name.to_owned(), unit: unit.to_owned(), help: help.to_owned() },
        values: busy.iter().map(|busy| Some(value(*busy))).collect(),
    };
    let mut columns = Vec::new();
    for (cpu, share) in [(0, 0.97), (1, 0.55)] {
        for (kind, part) in [("user", 0.30), ("system", 0.53), ("softirq", 0.17), ("iowait", 0.0)] {
            let name = format!("cpu.{cpu}.{kind}");
            columns.push(column(&name, "cores", "CPU time of this kind", &|busy| busy * share * part));
        }
        let name = |kind: &str| format!("cpu.{cpu}.{kind}");
        columns.push(column(&name("steal"), "cores", "CPU time that the hypervisor took", &|_| steal));
        columns.push(column(&name("idle"), "cores", "Idle CPU time", &|busy| {
            (1.0 - busy * share - steal).max(0.0)
        }));
    }
    columns.push(column("server.cpu.time", "cores", "CPU time of the server", &|busy| busy * 0.81));
    columns
        .push(column("server.cpu.user", "cores", "CPU time of the server in user mode", &|busy| busy * 0.29));
    columns.push(column("server.cpu.system", "cores", "CPU time of the server in the kernel", &|busy| {
        busy * 0.52
    }));
    columns
        .push(column("server.rss", "B", "Memory of the server", &|busy| (40.0 + 8.0 * busy) * 1_048_576.0));
    columns.push(column("runnable", "1", "Tasks that run or wait for a CPU", &|busy| {
        1.0 + (3.0 * busy).round()
    }));
    columns.push(column("net.lo.sent_bytes", "B/s", "Bytes sent", &|busy| busy * limit_per_s * 1_420.0));
    let unix_ms = t_s.iter().map(|t_s| trial.started_unix_ms.cast_signed() + (t_s * 1e3) as i64).collect();
    Telemetry { unix_ms, t_s, columns }
}
