//! Fleets for a terminal: the answer in sentences, a column for each kind, the curve over the load.

use std::fmt::Write as _;

use archive::model::{plural, thousands};
use cost::sizing::{CapacityBasis, KindSize, SizeReport};

use super::cost::{amount, money, power, with_interval};
use crate::color;
use crate::show::layout::table;
use crate::show::layout::table::table;

/// The whole answer.
pub fn text(report: &SizeReport) -> String {
    let mut out = String::new();
    for kind in &report.kinds {
        let servers = plural(kind.servers, "server");
        let line = format!(
            "{servers} of {} carry {}/s at {}.",
            name(report, kind),
            thousands(report.peak_per_s),
            report.objective
        );
        let _ = writeln!(out, "{}", color::heading(line));
    }
    for replacement in &report.replacements {
        let _ = writeln!(out, "{}.", replacement.sentence);
    }
    let zones = match report.zones {
        1 => "1 zone".to_owned(),
        zones => format!("{zones} zones, one of which may be lost"),
    };
    let _ = writeln!(
        out,
        "\nHeadroom {} %, {}, {zones}.\n",
        amount(report.headroom * 100.0),
        plural(report.spares.into(), "spare")
    );
    out.push_str(&table(&kinds(report)));
    let _ = writeln!(out, "\n{}", table(&curve(report)));
    for why in &report.not_sized {
        let _ = writeln!(out, "  {}: {why}.", color::caution("not sized"));
    }
    for kind in &report.kinds {
        for missing in &kind.missing {
            let _ = writeln!(
                out,
                "  {} {} of {}: {}.",
                color::caution("no"),
                missing.figure,
                kind.variant,
                missing.why
            );
        }
    }
    for note in &report.notes {
        let _ = writeln!(out, "  {note}.");
    }
    out
}

/// A kind's name; with its run if there are several.
fn name(report: &SizeReport, kind: &KindSize) -> String {
    let is_one_run = report.kinds.iter().all(|other| other.run == report.kinds[0].run);
    if is_one_run { kind.variant.clone() } else { format!("{} of {}", kind.variant, kind.run) }
}

fn kinds(report: &SizeReport) -> Vec<Vec<String>> {
    let currency = report.currency.as_deref().unwrap_or_default();
    let row = |head: &str, cell: &dyn Fn(&KindSize) -> Option<String>| table::row(head, &report.kinds, cell);
    let rows = vec![
        row("", &|kind| Some(name(report, kind))),
        row("machine", &|kind| kind.target.clone()),
        row("capacity of one server", &|kind| {
            Some(with_interval(kind.capacity_per_s, |value| format!("{}/s", amount(value))))
        }),
        row("measured at", &|kind| {
            let how = match kind.basis {
                CapacityBasis::Measured => "",
                CapacityBasis::StricterObjective => " (stricter)",
                CapacityBasis::Curve => " (from the curve)",
            };
            Some(format!("{}{how}", kind.measured_objective))
        }),
        row("load of one server at most", &|kind| Some(format!("{}/s", amount(kind.usable_per_s)))),
        row("servers", &|kind| Some(thousands(kind.servers as f64))),
        row("of them in each zone, without spares", &|kind| {
            (report.zones > 1).then(|| thousands(kind.servers_in_a_zone as f64))
        }),
        row("rack units", &|kind| Some(amount(kind.rack_units?))),
        row("power of one server at load", &|kind| kind.power_at_load.as_ref().map(power)),
        row("power of all, without cooling", &|kind| {
            Some(format!("{} kW (estimate)", amount(kind.kilowatts?)))
        }),
        row("total cost over the life", &|kind| Some(format!("{} {currency}", money(kind.total_cost?)))),
    ];
    table::without_empty(rows)
}

/// Servers and cost over the load at the peak.
fn curve(report: &SizeReport) -> Vec<Vec<String>> {
    let currency = report.currency.as_deref().unwrap_or_default();
    let has_cost = report.kinds.iter().any(|kind| kind.total_cost.is_some());
    let mut rows = vec![
        std::iter::once("load".to_owned()).chain(report.kinds.iter().map(|k| name(report, k))).collect(),
    ];
    let loads = report.kinds.first().map_or(0, |kind| kind.curve.len());
    for index in 0..loads {
        let load = report.kinds[0].curve[index].load_per_s;
        let cell = |kind: &KindSize| {
            let point = kind.curve[index];
            let cost = if has_cost { point.total_cost } else { None };
            let cost = cost.map_or(String::new(), |cost| format!(", {} {currency}", money(cost)));
            plural(point.servers, "server") + &cost
        };
        let row: Vec<String> =
            std::iter::once(format!("{}/s", amount(load))).chain(report.kinds.iter().map(cell)).collect();
        rows.push(row);
    }
    rows
}
