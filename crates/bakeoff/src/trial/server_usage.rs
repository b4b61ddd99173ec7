//! A trial's telemetry as the archive has it: the server's use of CPU, memory and processes, and the table of samples.

use std::time::Duration;

use archive::model::ServerUsage;
use archive::telemetry::{Column, ColumnInfo, Telemetry};
use host::telemetry::Recording;

/// Name under which telemetry records the server's processes.
pub const WATCH: &str = "server";

/// The server's resource use in a window of the recording (microseconds); none without a sample in it.
pub fn usage(recording: &Recording, (from, to): (u64, u64)) -> Option<ServerUsage> {
    let mean = |name: &str| recording.mean(&format!("{WATCH}.{name}"), from..=to);
    let most = |name: &str| recording.max(&format!("{WATCH}.{name}"), from..=to).unwrap_or(0.0);
    let (user, system) = (mean("cpu.user")?, mean("cpu.system")?);
    let seconds = to.saturating_sub(from) as f64 / 1e6;
    Some(ServerUsage {
        user_cpu_s: user * seconds,
        system_cpu_s: system * seconds,
        cores: user + system,
        peak_rss_bytes: most("rss") as u64,
        processes: most("processes") as u32,
        threads: most("threads") as u32,
        descriptors: most("descriptors") as u32,
    })
}

/// A recording as the archive writes it: columns instead of samples, times from the start of the trial, which began
/// `lead` before the recording.
pub fn table(recording: &Recording, lead: Duration) -> Telemetry {
    let columns = recording.columns.iter().enumerate().map(|(at, column)| Column {
        info: ColumnInfo {
            name: column.name.clone(),
            unit: column.unit.to_owned(),
            help: column.help.to_owned(),
        },
        values: recording.samples.iter().map(|sample| sample.values.get(at).copied().flatten()).collect(),
    });
    Telemetry {
        t_s: recording.samples.iter().map(|sample| lead.as_secs_f64() + sample.t_us as f64 / 1e6).collect(),
        unix_ms: recording.samples.iter().map(|sample| sample.unix_ms.cast_signed()).collect(),
        columns: columns.collect(),
    }
}
