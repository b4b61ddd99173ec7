//! docs/results/cost.md: the published figures, and what is computed from them, line by line.

use std::fmt::Write;

use super::checks::{Check, Outcome};
use super::data::{ListedResult, Published, number};
use super::efficiency::Efficiency;
use super::report::report;

/// The page as Markdown.
pub fn page(published: &Published) -> String {
    let report = report(published, None);
    let mut out = String::from(
        "# Published evaluations: SWaP, energy and cost\n\n\
         `make bench-cost` writes this page: published evaluations from `crates/cost/data/published.toml` with the code of `showdown published`, \
         and below them one comparison that it measures. Of the published ones, figures are the authors', and everything computed is computed here. Volts × amperes is apparent power, so every watt is an estimate and an upper \
         bound. Figures of different clients are not comparable.\n",
    );
    let count = |outcome: Outcome| report.checks.iter().filter(|check| check.outcome == outcome).count();
    let _ = write!(
        out,
        "\n## Claims\n\n{} claims and questions: {} reproduced, {} differ, {} cannot be checked.\n\n\
         | claim | printed | computed | outcome | why |\n|---|---|---|---|---|\n",
        report.checks.len(),
        count(Outcome::Reproduced),
        count(Outcome::Differs),
        count(Outcome::NotCheckable),
    );
    for Check { claim, printed, computed, outcome, why } in &report.checks {
        let _ = writeln!(out, "| {claim} | {printed} | {computed} | {} | {why} |", outcome.words());
    }
    out.push_str(
        "\n## SWaP and work for each joule\n\nSWaP = figure / (rack units × watts). Operations a joule = operations/s / watts. Of a \
         curve, the highest value counts.\n\n\
         | year | system | workload | metric | variant | figure | watts (estimate) | rack units | operations a joule | SWaP | why not, or what limits it |\n\
         |--:|---|---|---|---|--:|--:|--:|--:|--:|---|\n",
    );
    for line in &report.efficiency {
        let Efficiency { year, workload, metric, .. } = line;
        let _ = writeln!(
            out,
            "| {year} | {} | {workload} | {metric} | {} | {} | {} | {} | {} | {} | {} |",
            text(line.system.as_ref()),
            text(line.variant.as_ref()),
            digits(line.value),
            line.watts.map_or_else(|| "–".to_owned(), |watts| format!("{watts:.0}")),
            digits(line.rack_units),
            digits(line.operations_per_joule),
            digits(line.swap),
            [&line.why_not, &line.caveat].into_iter().flatten().cloned().collect::<Vec<_>>().join("; "),
        );
    }
    out.push_str(
        "\n## The figures\n\n| year | system | workload | metric | figure | variant | client | caveat |\n|--:|---|---|---|---|---|---|---|\n",
    );
    for result in &report.results {
        let ListedResult { year, workload, metric, value, .. } = result;
        let _ = writeln!(
            out,
            "| {year} | {} | {workload} | {metric} | {value} | {} | {} | {} |",
            text(result.system.as_ref()),
            text(result.variant.as_ref()),
            text(result.client.as_ref()),
            text(result.caveat.as_ref()),
        );
    }
    out
}

fn text(cell: Option<&String>) -> &str {
    cell.map_or("–", String::as_str)
}

fn digits(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_in_the_documents_is_the_one_that_the_data_gives() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results/cost.md");
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            // The measured comparison follows.
            written.trim_end().starts_with(page(&Published::shipped()).trim_end()),
            "docs/results/cost.md is out of date: run make bench-cost"
        );
    }

    #[test]
    fn every_row_has_the_columns_of_its_table() {
        let page = page(&Published::shipped());
        let columns = |line: &str| line.matches(" | ").count();
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with('|')).collect();
        let mut expected = 0;
        for pair in rows.windows(2) {
            if pair[1].starts_with("|--") {
                expected = columns(pair[0]);
            } else if !pair[0].starts_with("|--")
                && !pair[1].starts_with("| claim")
                && !pair[1].starts_with("| year |")
            {
                assert_eq!(columns(pair[1]), expected, "{}", pair[1]);
            }
        }
    }
}
