//! The costs of variants for a terminal: a column for each variant, what is missing, how they compare.

use std::fmt::Write as _;

use archive::model::{thousands, with_unit, work_of};
use cost::Figure;
use cost::pricing::{CostReport, Missing, Power, VariantCost};

use crate::color;
use crate::show::layout::sentence::capitalised;
use crate::show::layout::table::{row, table, without_empty};

/// Variants beside each other; further ones are in tables below.
const COLUMNS: usize = 3;

/// The whole answer.
pub fn text(report: &CostReport) -> String {
    let mut out = String::new();
    for comparison in &report.comparisons {
        let _ = writeln!(out, "{}", color::heading(capitalised(&comparison.sentence)));
    }
    for pair in &report.over_load {
        let _ = writeln!(out, "{}", capitalised(&pair.sentence));
    }
    if !report.comparisons.is_empty() || !report.over_load.is_empty() {
        out.push('\n');
    }
    let _ = writeln!(out, "{}\n", basis(report));
    for variants in report.variants.chunks(COLUMNS) {
        out.push_str(&table(&rows(report, variants)));
        out.push('\n');
    }
    out.push_str(&missing(&report.variants));
    for note in &report.notes {
        let _ = writeln!(out, "  {note}.");
    }
    out
}

/// What the figures rest on, from the file of targets.
fn basis(report: &CostReport) -> String {
    let life = report.life_years.map(|years| format!("life {} years", amount(years)));
    let load = match report.hours_at_load_a_day {
        hours if hours >= 24.0 => "at load all day".to_owned(),
        hours => format!("at load {} h a day", amount(hours)),
    };
    let pue = report.pue.map(|pue| format!("PUE {pue}"));
    let price = report.price_per_kwh.map(|price| format!("{price} {}/kWh", report.currency));
    let carbon = report.grid_intensity_g_per_kwh.map(|grams| format!("{grams} g CO2e/kWh"));
    [life, Some(load), pue, price, carbon].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn rows(report: &CostReport, variants: &[VariantCost]) -> Vec<Vec<String>> {
    let currency = &report.currency;
    let has_runs = report.variants.iter().any(|variant| variant.run != report.variants[0].run);
    // One metric for all: the unit says what an operation is.
    let unit = &variants[0].unit;
    let operations = work_of(if variants.iter().all(|variant| variant.unit == *unit) { unit } else { "" });
    let mut rows = vec![row("", variants, |variant| Some(variant.variant.clone()))];
    if has_runs {
        rows.push(row("run", variants, |variant| Some(variant.run.clone())));
    }
    let of = |name: &str, cell: &dyn Fn(&VariantCost) -> Option<String>| row(name, variants, cell);
    rows.extend([
        of("machine", &|v| Some(v.target.clone())),
        of("metric", &|v| Some(v.metric.clone())),
        of("performance", &|v| {
            Some(with_interval(v.performance?, |value| with_unit(&amount(value), &v.unit)))
        }),
        of("power at load", &|v| v.power_at_load.as_ref().map(power)),
        of("power idle", &|v| v.power_idle.as_ref().map(power)),
        of(&format!("{operations} a joule"), &|v| Some(with_interval(v.operations_per_joule?, amount))),
        of("SWaP = performance / (rack units × watts)", &|v| Some(with_interval(v.swap?, amount))),
        of("energy a year", &|v| Some(format!("{} kWh", amount(v.energy_kwh_a_year?)))),
        of("energy cost a year", &|v| Some(format!("{} {currency}", money(v.energy_cost_a_year?)))),
        of("total cost over the life", &|v| Some(format!("{} {currency}", money(v.total_cost?)))),
        of(&format!("cost of a million {operations}"), &|v| {
            Some(with_interval(v.cost_of_a_million?, |value| format!("{} {currency}", money(value))))
        }),
        of("carbon a year", &|v| Some(format!("{} kg", amount(v.carbon_kg_a_year?)))),
        of(&format!("carbon of a million {operations}"), &|v| {
            Some(with_interval(v.carbon_g_of_a_million?, |value| format!("{} g", amount(value))))
        }),
    ]);
    without_empty(rows)
}

/// Each reason once, with the variants and the figures that it keeps from being computed.
fn missing(variants: &[VariantCost]) -> String {
    let mut reasons: Vec<(&str, Vec<&str>, Vec<&str>)> = Vec::new();
    for variant in variants {
        for Missing { figure, why } in &variant.missing {
            let index = reasons.iter().position(|(known, ..)| known == why).unwrap_or_else(|| {
                reasons.push((why, Vec::new(), Vec::new()));
                reasons.len() - 1
            });
            let (_, names, figures) = &mut reasons[index];
            for (list, item) in [(names, &variant.variant), (figures, figure)] {
                if !list.contains(&item.as_str()) {
                    list.push(item);
                }
            }
        }
    }
    let mut out = String::new();
    for (why, names, figures) in reasons {
        let of =
            if names.len() == variants.len() { String::new() } else { format!(" of {}", names.join(", ")) };
        let _ = writeln!(out, "  {} {}{of}: {why}.", color::caution("no"), figures.join(", "));
    }
    out
}

/// Watts with their boundary; those without a meter are an estimate.
pub fn power(power: &Power) -> String {
    let estimate = if power.is_estimate { " (estimate)" } else { "" };
    format!("{} W {}{estimate}", amount(power.watts), power.boundary.name())
}

/// A figure with its interval: `1.23 EUR (1.20–1.26)`; the unit is written once.
pub fn with_interval(figure: Figure, write: impl Fn(f64) -> String) -> String {
    let bare = |value: f64| {
        let text = write(value);
        let end = text.find(|c: char| !(c.is_ascii_digit() || ".,-".contains(c))).unwrap_or(text.len());
        text[..end].to_owned()
    };
    match (figure.low, figure.high) {
        (Some(low), Some(high)) => format!("{} ({}–{})", write(figure.value), bare(low), bare(high)),
        _ => format!("{} (no interval)", write(figure.value)),
    }
}

/// Three significant digits, or whole from 1,000 on.
pub fn amount(value: f64) -> String {
    if value == 0.0 || value.abs() >= 1000.0 {
        return thousands(value);
    }
    let whole_digits = value.abs().log10().floor() as i32 + 1;
    let text = format!("{value:.*}", (3 - whole_digits).clamp(0, 9) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Money: two decimals, and below 1 three digits.
pub fn money(value: f64) -> String {
    match value.abs() {
        v if v >= 10_000.0 => thousands(value),
        v if v >= 1.0 => {
            let cents = (value * 100.0).round();
            format!("{}.{:02}", thousands((cents / 100.0).trunc()), cents.abs() as u64 % 100)
        }
        _ => amount(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_and_amounts_have_few_digits() {
        assert_eq!([money(6102.4), money(12_345.6), money(0.001_476)], ["6,102.40", "12,346", "0.00148"]);
        assert_eq!(
            [amount(131_043.4), amount(4.0), amount(0.655), amount(0.0)],
            ["131,043", "4", "0.655", "0"]
        );
    }

    #[test]
    fn the_unit_is_written_once() {
        let figure = Figure { value: 1.5, low: Some(1.25), high: Some(2.0) };
        assert_eq!(with_interval(figure, |value| format!("{} EUR", money(value))), "1.50 EUR (1.25–2.00)");
        let alone = Figure { value: 1.5, low: None, high: None };
        assert_eq!(with_interval(alone, amount), "1.5 (no interval)");
    }
}
