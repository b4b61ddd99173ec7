//! What `showdown published` prints.

use serde::Serialize;

use super::checks::{self, Check};
use super::data::{ListedResult, Published};
use super::efficiency::{self, Efficiency};

/// What `showdown published` prints.
#[derive(Debug, Clone, Serialize)]
pub struct PublishedReport {
    /// The figures with their year, client and caveat.
    pub results: Vec<ListedResult>,
    /// What the figures amount to for each joule and rack unit.
    pub efficiency: Vec<Efficiency>,
    /// Printed claims beside what the figures give.
    pub checks: Vec<Check>,
}

/// Everything that `showdown published` prints; of one kind of work if it is named. Checks are of all.
pub fn report(published: &Published, workload: Option<&str>) -> PublishedReport {
    let is_wanted = |name: &str| workload.is_none_or(|wanted| wanted == name);
    let results = published.results.iter().filter(|result| is_wanted(&result.workload));
    let efficiency = efficiency::all(published).into_iter().filter(|line| is_wanted(&line.workload));
    PublishedReport {
        results: results.map(|result| published.listed(result)).collect(),
        efficiency: efficiency.collect(),
        checks: if workload.is_none() { checks::all(published) } else { Vec::new() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_listed_with_its_year_client_and_caveat() {
        let web = report(&Published::shipped(), Some("static-web"));
        let first = &web.results[0];
        assert_eq!((first.year, first.client.as_deref()), (2006, Some("siege, 11 machines")));
        assert_eq!((first.value.as_str(), first.metric.as_str()), ("5,718", "requests/s"));
        assert!(first.caveat.as_ref().unwrap().contains("withdrawn"));
        assert!(web.results.iter().all(|result| result.workload == "static-web"));
        let power = report(&Published::shipped(), Some("power"));
        assert_eq!(power.results[0].value, "mean 1; peak 1.2; at 240 V; 210 EUR a year");
    }
}
