//! The progress of `showdown load --scenario … --find-capacity`: the population that is loaded, and what came of the last one.

use indicatif::ProgressBar;
use load::capacity::population::{Population, PopulationEvent, PopulationStep};
use serde::Serialize;

use crate::show::layout::units;
use crate::show::load::population::in_words;
use crate::show::progress::bar::{self, ProgressMode};

/// One line of JSON, see docs/FORMATS.md.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum PopulationLine {
    /// A load of a population begins.
    PopulationBegins { users: Option<u32>, visits_per_s: Option<f64>, left_s: f64 },
    /// It has ended.
    PopulationEnded {
        is_carried: bool,
        client_was_the_limit: bool,
        p99_us: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        gave_up_from_us: Option<u64>,
    },
}

impl From<&PopulationEvent<'_>> for PopulationLine {
    fn from(event: &PopulationEvent<'_>) -> Self {
        match event {
            PopulationEvent::Begins { population, left } => {
                let (users, visits_per_s) = match *population {
                    Population::Users(users) => (Some(users), None),
                    Population::Visits(per_s) => (None, Some(per_s)),
                };
                Self::PopulationBegins { users, visits_per_s, left_s: left.as_secs_f64() }
            }
            PopulationEvent::Ended(step) => Self::PopulationEnded {
                is_carried: step.is_carried(),
                client_was_the_limit: !step.client_reasons.is_empty(),
                p99_us: p99(step),
                gave_up_from_us: step.summary.gave_up_from_us,
            },
        }
    }
}

/// The 99th percentile; none where no operation ended.
fn p99(step: &PopulationStep) -> Option<u64> {
    let times = &step.summary.response_time_us;
    (!times.is_empty()).then_some(times.p99)
}

/// The progress of a search for a population.
pub struct PopulationProgress {
    mode: ProgressMode,
    bar: ProgressBar,
}

impl PopulationProgress {
    /// Shows that the first load is near.
    pub fn new(mode: ProgressMode) -> Self {
        let bar = mode.bar();
        bar.set_style(bar::style("{msg} {prefix}"));
        bar.set_message("connecting");
        Self { mode, bar }
    }

    /// Takes an event of the search.
    pub fn observe(&self, event: &PopulationEvent<'_>) {
        self.mode.print_json(&PopulationLine::from(event));
        match event {
            PopulationEvent::Begins { population, left } => {
                self.bar.set_message(format!("loading with {} …", in_words(*population)));
                self.bar.set_prefix(format!("about {} left", units::about(left.as_secs_f64())));
            }
            PopulationEvent::Ended(step) => {
                let p99 = units::response_time(p99(step), step.summary.gave_up_from_us);
                let came = if step.is_carried() { "carried" } else { "not carried" };
                let who = in_words(step.population);
                self.bar.println(format!("  {who:>16}  p99 {p99:>8}  {came}"));
            }
        }
    }

    /// Clears the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::progress::formats_page::assert_documented;

    #[test]
    fn formats_md_documents_every_event_of_a_search_for_a_population() {
        let begins =
            |users, visits_per_s| PopulationLine::PopulationBegins { users, visits_per_s, left_s: 1.5 };
        let ended = PopulationLine::PopulationEnded {
            is_carried: true,
            client_was_the_limit: false,
            p99_us: Some(1),
            gave_up_from_us: Some(1),
        };
        [begins(Some(1), None), begins(None, Some(1.5)), ended].iter().for_each(assert_documented);
    }
}
