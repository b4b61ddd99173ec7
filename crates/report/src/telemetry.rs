//! Of a trial's telemetry what the page draws: the CPUs of each side by kind of time, and the server's own share.
//!
//! The columns of single CPUs are summed over each side's, so a page of a machine of 128 cores is no larger than one
//! of two. The Parquet file has them all.

use crate::cpus;
use archive::{
    model::CpuSplit,
    telemetry::{Column, Meaning, Telemetry},
};
use serde::Serialize;
use std::collections::BTreeSet;

/// The kinds of CPU time that are drawn, and the host's columns that each is made of.
const KINDS: [(&str, &[&str]); 5] = [
    ("user", &["user", "nice"]),
    ("system", &["system"]),
    ("interrupts", &["irq", "softirq"]),
    ("iowait", &["iowait"]),
    ("steal", &["steal"]),
];

/// Beginnings of the names of columns that come along as they are, where anything happened.
const AS_THEY_ARE: [&str; 8] =
    ["server.", "runnable", "context_switches", "pressure.", "memory.available", "swap.", "softnet.", "tcp."];

/// Part of a telemetry, by column.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Drawn {
    t_s: Vec<f64>,
    columns: Vec<DrawnColumn>,
    /// How many rows of the file each row stands for; their mean.
    rows_merged: usize,
}

#[derive(Debug, PartialEq, Serialize)]
struct DrawnColumn {
    #[serde(flatten)]
    meaning: Meaning,
    values: Vec<Option<f64>>,
}

/// What of a trial's telemetry is drawn, at most `most` rows.
pub(crate) fn drawn(table: &Telemetry, split: Option<&CpuSplit>, most: usize) -> Drawn {
    let mut columns = Vec::new();
    if let Some(split) = split {
        columns.extend(side(table, "server_cpus", "the server's CPUs", &cpus::parse(&split.server)));
        columns.extend(side(table, "client_cpus", "the client's CPUs", &cpus::parse(&split.client)));
    }
    let network = |name: &str| name.starts_with("net.") && name.ends_with("_bytes");
    let wanted = |name: &str| AS_THEY_ARE.iter().any(|start| name.starts_with(start)) || network(name);
    let happened = |column: &&Column| column.values.iter().flatten().any(|value| *value != 0.0);
    let others = table.columns.iter().filter(|column| wanted(&column.meaning.name)).filter(happened);
    columns.extend(
        others.map(|column| DrawnColumn { meaning: column.meaning.clone(), values: column.values.clone() }),
    );
    shorten(Drawn { t_s: table.t_s.clone(), columns, rows_merged: 1 }, most)
}

/// The CPUs of one side, summed by kind, and the busiest of them.
fn side(table: &Telemetry, prefix: &str, whose: &str, cpus: &BTreeSet<u32>) -> Vec<DrawnColumn> {
    let column = |cpu: &u32, kind: &str| table.column(&format!("cpu.{cpu}.{kind}"));
    let meaning = |name: &str, unit: &str, help: String| Meaning {
        name: format!("{prefix}.{name}"),
        unit: unit.to_owned(),
        help,
    };
    let mut columns = Vec::new();
    for (kind, parts) in KINDS {
        let of_kind: Vec<&Column> =
            cpus.iter().flat_map(|cpu| parts.iter().filter_map(move |part| column(cpu, part))).collect();
        if !of_kind.is_empty() {
            let values = by_row(&of_kind, |values| values.sum());
            let help = format!("Time of {whose} in {kind}, summed");
            columns.push(DrawnColumn { meaning: meaning(kind, "cores", help), values });
        }
    }
    let idle: Vec<&Column> = cpus.iter().filter_map(|cpu| column(cpu, "idle")).collect();
    if idle.len() > 1 {
        let least = by_row(&idle, |values| values.fold(1.0, f64::min));
        let values = least.into_iter().map(|least| least.map(|least| 1.0 - least)).collect();
        let help = format!("How busy the busiest of {whose} was: one thread can be the limit");
        columns.push(DrawnColumn { meaning: meaning("busiest", "share", help), values });
    }
    columns
}

/// One value a row from those of several columns; none where none of them has one.
fn by_row(columns: &[&Column], fold: impl Fn(&mut dyn Iterator<Item = f64>) -> f64) -> Vec<Option<f64>> {
    let rows = columns.iter().map(|column| column.values.len()).max().unwrap_or(0);
    (0..rows)
        .map(|row| {
            let mut values =
                columns.iter().filter_map(|column| column.values.get(row).copied().flatten()).peekable();
            values.peek().is_some().then_some(())?;
            Some(fold(&mut values))
        })
        .collect()
}

/// Rows are means of equal stretches of time already, so means of several are means again.
fn shorten(drawn: Drawn, most: usize) -> Drawn {
    let group = drawn.t_s.len().div_ceil(most.max(1)).max(1);
    if group == 1 {
        return drawn;
    }
    let mean = |values: &[Option<f64>]| {
        let present: Vec<f64> = values.iter().copied().flatten().collect();
        (!present.is_empty()).then(|| present.iter().sum::<f64>() / present.len() as f64)
    };
    let columns = drawn.columns.into_iter().map(|DrawnColumn { meaning, values }| DrawnColumn {
        meaning,
        values: values.chunks(group).map(mean).collect(),
    });
    Drawn {
        t_s: drawn.t_s.chunks(group).filter_map(|times| times.first().copied()).collect(),
        columns: columns.collect(),
        rows_merged: group,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(columns: &[(&str, &[f64])]) -> Telemetry {
        let column = |(name, values): &(&str, &[f64])| Column {
            meaning: Meaning { name: (*name).to_owned(), unit: String::new(), help: String::new() },
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
        drawn.columns.iter().find(|column| column.meaning.name == name).map(|column| column.values.as_slice())
    }

    #[test]
    fn each_side_is_the_sum_of_its_cpus() {
        let table = table(&[
            ("cpu.0.user", &[0.2, 0.3]),
            ("cpu.1.user", &[0.4, 0.5]),
            ("cpu.1.nice", &[0.1, 0.0]),
            ("cpu.2.user", &[0.9, 0.9]),
            ("cpu.0.idle", &[0.8, 0.7]),
            ("cpu.1.idle", &[0.5, 0.5]),
            ("softnet.dropped", &[0.0, 0.0]),
            ("server.rss", &[5.0, 6.0]),
        ]);
        let split = CpuSplit { server: "0-1".to_owned(), client: "2".to_owned() };
        let drawn = drawn(&table, Some(&split), 100);
        let near = |found: &[Option<f64>], want: [f64; 2]| {
            found.iter().zip(want).all(|(found, want)| (found.unwrap() - want).abs() < 1e-12)
        };
        assert!(near(values(&drawn, "server_cpus.user").unwrap(), [0.7, 0.8]));
        assert!(near(values(&drawn, "server_cpus.busiest").unwrap(), [0.5, 0.5]));
        assert!(near(values(&drawn, "client_cpus.user").unwrap(), [0.9, 0.9]));
        assert!(near(values(&drawn, "server.rss").unwrap(), [5.0, 6.0]));
        assert_eq!(values(&drawn, "softnet.dropped"), None, "what never happened is not drawn");
        assert_eq!(values(&drawn, "cpu.0.user"), None);
    }

    #[test]
    fn long_tables_become_means() {
        let table = table(&[("runnable", &[1.0, 3.0, 5.0, 7.0, 9.0])]);
        let drawn = drawn(&table, None, 3);
        assert_eq!((drawn.rows_merged, drawn.t_s.as_slice()), (2, &[0.0, 2.0, 4.0][..]));
        assert_eq!(values(&drawn, "runnable").unwrap(), [Some(2.0), Some(6.0), Some(9.0)]);
    }
}
