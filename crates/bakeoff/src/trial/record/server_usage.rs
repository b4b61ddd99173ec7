//! A trial's telemetry as the archive has it: the server's use of CPU, memory and processes, and the table of samples.

use std::time::Duration;

use archive::model::{PartUsage, ServerUsage};
use archive::telemetry::{Column, ColumnInfo, Telemetry};
use host::telemetry::{Recording, TelemetryColumn, TelemetrySample};
use machine::part_columns;

/// Name under which telemetry records the server's processes.
pub const WATCH: &str = "server";
/// The begin of the names where there are several.
const WATCH_ONE_OF: &str = "server-";

/// The server's resource use, and that of these parts of it, in a window of the recording (microseconds); none without a sample in it.
/// `under_load` is how long it was loaded within the window, where that was in slices.
pub fn usage(
    recording: &Recording,
    window: (u64, u64),
    under_load: Option<Duration>,
    parts: &[String],
) -> Option<ServerUsage> {
    let whole = usage_of(WATCH, recording, window, under_load)?;
    let mut of_parts = Vec::new();
    for part in parts {
        if let Some(used) = usage_of(&part_columns(WATCH, part), recording, window, under_load) {
            of_parts.push(part_usage(part, &used));
        }
    }
    Some(ServerUsage { parts: of_parts, ..whole })
}

fn part_usage(part: &str, used: &ServerUsage) -> PartUsage {
    PartUsage {
        part: part.to_owned(),
        user_cpu_s: used.user_cpu_s,
        system_cpu_s: used.system_cpu_s,
        cores: used.cores,
        peak_rss_bytes: used.peak_rss_bytes,
        processes: used.processes,
        threads: used.threads,
    }
}

/// The use of the processes that are recorded in columns of this prefix.
fn usage_of(
    watched: &str,
    recording: &Recording,
    (from, to): (u64, u64),
    under_load: Option<Duration>,
) -> Option<ServerUsage> {
    let mean = |name: &str| recording.mean(&format!("{watched}.{name}"), from..=to);
    let most = |name: &str| recording.max(&format!("{watched}.{name}"), from..=to).unwrap_or(0.0);
    let cores = mean("cpu.time")?;
    // Ticks tell the modes apart, and are too coarse for the sum: see the columns' help.
    let (user, system) = (mean("cpu.user")?, mean("cpu.system")?);
    let user_share = if user + system > 0.0 { user / (user + system) } else { 0.0 };
    let seconds = to.saturating_sub(from) as f64 / 1e6;
    let loaded_s = under_load.map_or(seconds, |time| time.as_secs_f64().min(seconds)).max(1e-6);
    Some(ServerUsage {
        user_cpu_s: cores * user_share * seconds,
        system_cpu_s: cores * (1.0 - user_share) * seconds,
        cores: cores * seconds.max(1e-6) / loaded_s,
        peak_rss_bytes: most("rss") as u64,
        processes: most("processes") as u32,
        threads: most("threads") as u32,
        descriptors: most("descriptors") as u32,
        parts: Vec::new(),
    })
}

/// One server's part of a recording of several, as if it had been recorded alone: the columns of other servers are left out.
pub fn own_part(recording: &Recording, server: &str) -> Recording {
    let own =
        |column: &TelemetryColumn| column.name.strip_prefix(server).is_some_and(|rest| rest.starts_with('.'));
    let is_kept: Vec<bool> = recording
        .columns
        .iter()
        .map(|column| own(column) || !column.name.starts_with(WATCH_ONE_OF))
        .collect();
    let kept = |at: usize| is_kept.get(at).copied().unwrap_or(false);
    let columns = recording.columns.iter().enumerate().filter(|(at, _)| kept(*at)).map(|(_, column)| {
        let name = if own(column) { column.name.strip_prefix(server) } else { None };
        let name = name.map_or_else(|| column.name.clone(), |rest| format!("{WATCH}{rest}"));
        TelemetryColumn { name, ..column.clone() }
    });
    let samples = recording.samples.iter().map(|sample| {
        let values = sample.values.iter().enumerate().filter(|(at, _)| kept(*at)).map(|(_, value)| *value);
        TelemetrySample { values: values.collect(), ..*sample }
    });
    Recording { columns: columns.collect(), samples: samples.collect(), ..recording.clone() }
}

/// The name under which telemetry records the processes of one of several servers.
pub fn watch_one_of(index: usize) -> String {
    format!("{WATCH_ONE_OF}{index}")
}

/// A recording as the archive writes it: columns instead of samples, times from the start of the trial, which began
/// `lead` before the recording.
pub fn table(recording: &Recording, lead: Duration) -> Telemetry {
    let columns = recording.columns.iter().enumerate().map(|(at, column)| Column {
        info: ColumnInfo {
            name: column.name.clone(),
            unit: column.unit.clone().into_owned(),
            help: column.help.clone().into_owned(),
        },
        values: recording.samples.iter().map(|sample| sample.values.get(at).copied().flatten()).collect(),
    });
    Telemetry {
        t_s: recording.samples.iter().map(|sample| lead.as_secs_f64() + sample.t_us as f64 / 1e6).collect(),
        unix_ms: recording.samples.iter().map(|sample| sample.unix_ms.cast_signed()).collect(),
        columns: columns.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording() -> Recording {
        let column =
            |name: &str| TelemetryColumn { name: name.to_owned(), unit: "cores".into(), help: "".into() };
        let names = [
            "cpu.0.user",
            "server-0.cpu.time",
            "server-0.cpu.user",
            "server-0.cpu.system",
            "server-1.cpu.user",
            "server-10.cpu.user",
        ];
        let sample =
            |t_us, values: [f64; 6]| TelemetrySample { t_us, unix_ms: 0, values: values.map(Some).to_vec() };
        Recording {
            columns: names.map(column).to_vec(),
            samples: vec![
                sample(1_000_000, [0.9, 0.5, 0.2, 0.1, 0.5, 7.0]),
                sample(2_000_000, [0.9, 0.7, 0.4, 0.1, 0.5, 7.0]),
            ],
            ..Recording::default()
        }
    }

    #[test]
    fn one_of_several_servers_has_its_own_columns_under_the_usual_names() {
        let own = own_part(&recording(), &watch_one_of(1));
        let names: Vec<&str> = own.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["cpu.0.user", "server.cpu.user"]);
        assert_eq!(own.samples[1].values, [Some(0.9), Some(0.5)]);
    }

    #[test]
    fn the_parts_of_one_of_several_servers_have_an_account_each() {
        let names = ["server-0.cpu", "server-0.part.database.cpu", "server-1.part.database.cpu"];
        let columns =
            names.iter().flat_map(|name| ["time", "user", "system"].map(|of| format!("{name}.{of}")));
        let columns = columns.map(|name| TelemetryColumn { name, unit: "cores".into(), help: "".into() });
        let values = [0.9, 0.8, 0.1, 0.6, 0.5, 0.1, 9.0, 9.0, 0.0];
        let sample = TelemetrySample { t_us: 1_000, unix_ms: 0, values: values.map(Some).to_vec() };
        let recording =
            Recording { columns: columns.collect(), samples: vec![sample], ..Recording::default() };
        let parts = ["database", "server"].map(str::to_owned);
        let own = own_part(&recording, &watch_one_of(0));
        let used = usage(&own, (0, 1_000_000), None, &parts).expect("samples");
        let found: Vec<(&str, f64)> =
            used.parts.iter().map(|part| (part.part.as_str(), part.cores)).collect();
        assert_eq!((used.cores, found), (0.9, vec![("database", 0.6)]), "a part without columns is left out");
    }

    #[test]
    fn what_a_server_used_in_its_slices_is_related_to_the_time_of_the_slices() {
        let own = own_part(&recording(), &watch_one_of(0));
        let window = (0, 2_000_000);
        let alone = usage(&own, window, None, &[]).expect("samples");
        assert!((alone.cores - 0.6).abs() < 1e-9, "{alone:?}");
        let in_turns = usage(&own, window, Some(Duration::from_secs(1)), &[]).expect("samples");
        assert!((in_turns.cores - 1.2).abs() < 1e-9, "{in_turns:?}");
        assert_eq!((in_turns.user_cpu_s, in_turns.system_cpu_s), (alone.user_cpu_s, alone.system_cpu_s));
    }

    #[test]
    fn clocks_have_the_cpu_time_and_ticks_have_its_modes() {
        let used =
            usage(&own_part(&recording(), &watch_one_of(0)), (0, 2_000_000), None, &[]).expect("samples");
        // Three of four ticks are in user mode, of 1.2 s by the clocks.
        assert!((used.user_cpu_s - 0.9).abs() < 1e-9 && (used.system_cpu_s - 0.3).abs() < 1e-9, "{used:?}");
    }
}
