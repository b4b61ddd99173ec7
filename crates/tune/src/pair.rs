//! Two servers, tuned with the same time and the same tunings: the searches, and the comparison of the best of both.

use std::time::Duration;

use archive::model::{Plan, RunLength, TuningRecord};
use bakeoff::PlanError;
use bakeoff::plan_request::{self, PlanRequest};
use host::Host;

use crate::bakeoff_lab::shorten;
use crate::error::TuneError;
use crate::one_sided::one_sided;
use crate::request::TuneRequest;
use crate::tunable::check;

/// The share of the time that each search has. The comparison has the rest, up to the length of an ordinary one.
const SEARCH: f64 = 0.4;

/// The searches of two servers, which share the time of the request with the comparison of their best. Both, and that comparison, can
/// be run.
pub fn searches_of_two(request: &TuneRequest, servers: [&str; 2]) -> Result<[TuneRequest; 2], TuneError> {
    let both = servers.map(|server| TuneRequest {
        server: server.to_owned(),
        share: SEARCH * request.share,
        ..request.clone()
    });
    check(&both)?;
    if servers[0] == servers[1] {
        return Err(TuneError::Twice(servers[0].to_owned()));
    }
    comparison(request, servers)?;
    Ok(both)
}

/// The comparison of the best of both. It names what one got and the other did not.
pub fn comparison_of_best(request: &TuneRequest, records: [&TuningRecord; 2]) -> Result<Plan, TuneError> {
    let mut plan = comparison(request, records.map(best))?;
    let [a, b] = [0, 1].map(|at| plan.variants[at].name.clone());
    plan.one_sided = one_sided(records, [&a, &b]);
    Ok(plan)
}

/// The server as its best is written: the baseline where nothing is kept.
fn best(record: &TuningRecord) -> &str {
    record.tuned.as_ref().unwrap_or(&record.baseline)
}

fn comparison(request: &TuneRequest, servers: [&str; 2]) -> Result<Plan, PlanError> {
    let usual = Duration::from_mins(if request.is_quick { 1 } else { 5 });
    let asked = PlanRequest {
        variants: servers.map(str::to_owned).to_vec(),
        length: Some(if request.is_quick { RunLength::Quick } else { RunLength::Default }),
        time: Some(request.budget().mul_f64(1.0 - 2.0 * SEARCH).min(usual)),
        ..request.of_trials()
    };
    let plan = match plan_request::plan(&asked, &Host::local()) {
        // Measures of operations one at a time have no time limit: use the preset's blocks.
        Err(PlanError::NoTimeLimit) => {
            plan_request::plan(&PlanRequest { time: None, ..asked }, &Host::local())
        }
        planned => planned,
    };
    let mut plan = plan?;
    if request.is_quick {
        shorten(&mut plan);
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::tests::request;

    #[test]
    fn two_servers_share_the_time_with_the_comparison_of_their_best() {
        let asked = request("nginx");
        let [first, second] = searches_of_two(&asked, ["nginx", "apache"]).expect("two servers");
        assert_eq!([first.server.as_str(), second.server.as_str()], ["nginx", "apache"]);
        assert_eq!([first.budget(), second.budget()], [Duration::from_mins(8); 2]);
        let twice = searches_of_two(&asked, ["nginx", "nginx"]).expect_err("one server");
        assert_eq!(twice.to_string(), "nginx is given twice: give two servers, or tune nginx alone");
        assert!(twice.is_usage());
        let elsewhere = searches_of_two(&asked, ["nginx", "apache@there"]).expect_err("another machine");
        assert!(matches!(elsewhere, TuneError::Elsewhere | TuneError::Plan(_)) && elsewhere.is_usage());
    }
}
