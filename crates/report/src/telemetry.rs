//! The telemetry that the page draws: CPU time by core and kind, the server's processes, network and pressure.
//!
//! A page for 128 cores must not be sixty times as large as one for two. On a machine with many cores, the server's CPU
//! time is included only by process. The Parquet file has every column.

use crate::cpus;
use archive::{
    model::CpuSplit,
    telemetry::{Column, ColumnInfo, Telemetry},
};
use serde::Serialize;

/// With more CPUs than this, only the client's CPUs and steal are included.
const MAX_CPUS: usize = 8;

/// Prefixes of columns that are included where any value is not zero.
const INCLUDED_PREFIXES: [&str; 8] =
    ["server.", "runnable", "context_switches", "pressure.", "memory.available", "swap.", "softnet.", "tcp."];

/// The drawn part of a telemetry table.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Drawn {
    t_s: Vec<f64>,
    columns: Vec<DrawnColumn>,
}

#[derive(Debug, PartialEq, Serialize)]
struct DrawnColumn {
    #[serde(flatten)]
    info: ColumnInfo,
    values: Vec<Option<f64>>,
}

/// The columns that the page draws, with at most `max_rows` rows.
pub(crate) fn drawn(table: &Telemetry, split: Option<&CpuSplit>, max_rows: usize) -> Drawn {
    let sides = split.map(|split| (cpus::parse(&split.server), cpus::parse(&split.client)));
    let is_drawn = |name: &str| match core_and_kind(name) {
        Some((_, "idle")) => false,
        Some((_, "steal")) => true,
        Some((cpu, _)) => sides.as_ref().is_none_or(|(server, client)| {
            let few = server.union(client).count() <= MAX_CPUS;
            client.contains(&cpu) || (few && server.contains(&cpu))
        }),
        None => {
            let network = name.starts_with("net.") && name.ends_with("_bytes");
            network || INCLUDED_PREFIXES.iter().any(|start| name.starts_with(start))
        }
    };
    let has_values = |column: &Column| column.values.iter().flatten().any(|value| *value != 0.0);
    // An idle core of the client is shown as zero.
    let kept = |column: &&Column| {
        let name = &column.info.name;
        is_drawn(name) && (has_values(column) || matches!(core_and_kind(name), Some((_, "user"))))
    };
    let column = |column: &Column| DrawnColumn { info: column.info.clone(), values: column.values.clone() };
    let columns = table.columns.iter().filter(kept).map(column).collect();
    shorten(Drawn { t_s: table.t_s.clone(), columns }, max_rows)
}

/// All columns of a table, with at most `max_rows` rows.
pub(crate) fn all_columns(table: &Telemetry, max_rows: usize) -> Drawn {
    let column = |column: &Column| DrawnColumn { info: column.info.clone(), values: column.values.clone() };
    shorten(Drawn { t_s: table.t_s.clone(), columns: table.columns.iter().map(column).collect() }, max_rows)
}

/// The parts of a name such as `cpu.0.softirq`.
fn core_and_kind(name: &str) -> Option<(u32, &str)> {
    let (cpu, kind) = name.strip_prefix("cpu.")?.split_once('.')?;
    Some((cpu.parse().ok()?, kind))
}

/// Rows are means over equal times, so a mean of several rows is the mean of the longer time.
fn shorten(drawn: Drawn, max_rows: usize) -> Drawn {
    let group = drawn.t_s.len().div_ceil(max_rows.max(1)).max(1);
    if group == 1 {
        return drawn;
    }
    let mean = |values: &[Option<f64>]| {
        let present: Vec<f64> = values.iter().copied().flatten().collect();
        (!present.is_empty()).then(|| present.iter().sum::<f64>() / present.len() as f64)
    };
    let columns = drawn.columns.into_iter().map(|DrawnColumn { info, values }| DrawnColumn {
        info,
        values: values.chunks(group).map(mean).collect(),
    });
    Drawn {
        t_s: drawn.t_s.chunks(group).filter_map(|times| times.first().copied()).collect(),
        columns: columns.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(columns: &[(&str, &[f64])]) -> Telemetry {
        let column = |(name, values): &(&str, &[f64])| Column {
            info: ColumnInfo { name: (*name).to_owned(), unit: String::new(), help: String::new() },
            values: values.iter().copied().map(Some).collect(),
        };
        let rows = columns[0].1.len();
        Telemetry {
            unix_ms: vec![0; rows],
            t_s: (0..rows).map(|row| row as f64).collect(),
            columns: columns.iter().map(column).collect(),
        }
    }

    fn values<'a>(drawn: &'a Drawn, name: &str) -> Option<&'a [Option<f64>]> {
        drawn.columns.iter().find(|column| column.info.name == name).map(|column| column.values.as_slice())
    }

    #[test]
    fn few_cores_are_drawn_by_core_and_kind_without_columns_of_zeros() {
        let table = table(&[
            ("cpu.0.user", &[0.2, 0.3]),
            ("cpu.0.idle", &[0.8, 0.7]),
            ("cpu.0.irq", &[0.0, 0.0]),
            ("cpu.1.user", &[0.0, 0.0]),
            ("cpu.2.user", &[0.9, 0.9]),
            ("cpu.2.steal", &[0.1, 0.0]),
            ("server.rss", &[5.0, 6.0]),
            ("softnet.dropped", &[0.0, 0.0]),
        ]);
        let split = CpuSplit { server: "0".to_owned(), client: "1".to_owned() };
        let drawn = drawn(&table, Some(&split), 100);
        let names: Vec<&str> = drawn.columns.iter().map(|column| column.info.name.as_str()).collect();
        assert_eq!(names, ["cpu.0.user", "cpu.1.user", "cpu.2.steal", "server.rss"]);
        assert_eq!(values(&drawn, "cpu.0.user").unwrap(), [Some(0.2), Some(0.3)]);
    }

    #[test]
    fn of_many_cores_only_the_clients_are_drawn() {
        let table = table(&[("cpu.0.user", &[0.5]), ("cpu.40.user", &[0.5]), ("server.cpu.user", &[9.0])]);
        let split = CpuSplit { server: "0-39".to_owned(), client: "40-63".to_owned() };
        let drawn = drawn(&table, Some(&split), 100);
        assert_eq!(values(&drawn, "cpu.0.user"), None);
        assert!(values(&drawn, "cpu.40.user").is_some() && values(&drawn, "server.cpu.user").is_some());
    }

    #[test]
    fn long_tables_are_shortened_to_means() {
        let table = table(&[("runnable", &[1.0, 3.0, 5.0, 7.0, 9.0])]);
        let drawn = drawn(&table, None, 3);
        assert_eq!(drawn.t_s, [0.0, 2.0, 4.0]);
        assert_eq!(values(&drawn, "runnable").unwrap(), [Some(2.0), Some(6.0), Some(9.0)]);
    }
}
