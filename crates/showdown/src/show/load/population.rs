//! The answer of `showdown load --scenario … --find-capacity` as text.

use std::fmt::Write;

use load::capacity::population::{Population, PopulationCapacity};

use super::{late, response_time, validity};
use crate::color;
use crate::show::layout::table::table;
use crate::show::layout::units::{plural, rate};

/// A population: `120 users`, `4.5 visits/s`.
pub fn in_words(population: Population) -> String {
    match population {
        Population::Users(users) => plural(users.into(), "user"),
        Population::Visits(per_s) => format!("{} visits/s", rate(per_s)),
    }
}

/// The answer of a search for a population.
pub fn answer(title: &str, found: &PopulationCapacity) -> String {
    let mut out = format!("{title}\n\n");
    let answer = match (found.carried, found.missed) {
        (Some(carried), Some(missed)) => {
            format!("{} meet {}; {} do not", in_words(carried), found.slo, in_words(missed))
        }
        (Some(carried), None) => format!("{} meet {}", in_words(carried), found.slo),
        (None, Some(missed)) => format!("not even {} meet {}", in_words(missed), found.slo),
        (None, None) => format!("no population at {} was found", found.slo),
    };
    let _ = writeln!(out, "  {}\n", color::heading(answer));
    let head = ["load", "operations/s", "p50", "p90", "p99", "max", "client", "late", ""];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for step in &found.steps {
        let (summary, response) = (&step.summary, &step.summary.response_time_us);
        let mut row = vec![in_words(step.population), rate(summary.throughput_per_s)];
        row.extend(
            [response.p50, response.p90, response.p99, response.max]
                .map(|us| response_time(response, us, summary.gave_up_from_us)),
        );
        row.push(format!("{:.0} %", summary.client.utilisation * 100.0));
        row.push(late(step.spent.late_share(&found.slo)));
        row.push(if step.is_carried() { "meets" } else { "misses" }.to_owned());
        rows.push(row);
    }
    out.push_str(&table(&rows));
    let least = found.steps.iter().filter(|step| Some(step.population) == found.missed);
    for why in least.flat_map(|step| &step.missed) {
        let _ = writeln!(out, "  {why}");
    }
    out.push('\n');
    out.push_str(&validity(found.valid, &found.reasons, &[]));
    out
}
