//! What is asked of a search: a server, its trials, and what may be tried. A search has no plan, because its trials follow from each
//! other; its request is what can be written down. What the user allows beside it comes with the run.

use std::path::PathBuf;
use std::time::Duration;

use bakeoff::plan_request::{MeasureRequest, PlanRequest};
use serde::{Deserialize, Serialize};

/// A request for a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TuneRequest {
    /// The command line, program name first.
    pub command: Vec<String>,
    /// The server as written: `nginx:sendfile=off`. Its settings are the baseline.
    pub server: String,
    /// Name or path of the workload; if none is given, the one that has this server.
    pub workload: Option<String>,
    /// Restricts the mix to one operation.
    pub on_op: Option<String>,
    /// What each trial measures; if none is given, capacity under an objective, or else a closed loop.
    pub measure: Option<TunedMeasure>,
    /// The objective of capacities; the workload's own if none is given.
    pub slo: Option<String>,
    /// Number of connections instead of the workload's.
    pub connections: Option<u32>,
    /// About how long all of the command takes.
    #[serde(with = "humantime_serde")]
    pub time: Duration,
    /// The share of that time which this search has, 0 to 1.
    pub share: f64,
    /// Whether trials are few and short.
    pub is_quick: bool,
    /// What tunings may weaken.
    pub may_weaken: Vec<Weakened>,
    /// The ids of the only tunings that are tried; empty for all.
    pub only: Vec<String>,
    /// Files and folders with further tunings.
    pub rules: Vec<PathBuf>,
    /// The seed; a random one if none is given.
    pub seed: Option<u32>,
    /// Tags to find the run by.
    pub tags: Vec<String>,
}

/// What each trial of a search measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TunedMeasure {
    /// The highest open-loop rate that meets the objective.
    Capacity,
    /// Operations per second in a closed loop.
    Throughput,
    /// Bytes per second in a closed loop.
    Bytes,
    /// The server's CPU time for each operation.
    Cpu,
}

/// What a tuning may weaken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weakened {
    /// What a crash loses.
    Durability,
    /// What protects the machine.
    Security,
}

impl Weakened {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Durability => "durability",
            Self::Security => "security",
        }
    }
}

impl TuneRequest {
    /// The time of this search.
    pub fn budget(&self) -> Duration {
        self.time.mul_f64(self.share)
    }

    /// What all trials have in common.
    pub fn of_trials(&self) -> PlanRequest {
        PlanRequest {
            command: self.command.clone(),
            workload: self.workload.clone(),
            measure: match self.measure {
                None if self.slo.is_some() => MeasureRequest::Default,
                // Its interval is a quarter of a capacity's in the same time, and candidates differ by little.
                None => MeasureRequest::DefaultInClosedLoop,
                Some(TunedMeasure::Capacity) => MeasureRequest::Capacity,
                Some(TunedMeasure::Throughput) => MeasureRequest::Throughput,
                Some(TunedMeasure::Bytes) => MeasureRequest::Bytes,
                Some(TunedMeasure::Cpu) => MeasureRequest::CpuTime(None),
            },
            slo: self.slo.clone(),
            on_op: self.on_op.clone(),
            connections: self.connections,
            seed: self.seed,
            tags: self.tags.iter().cloned().chain(["tune".to_owned()]).collect(),
            ..PlanRequest::default()
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A search of 20 minutes for a server of web pages.
    pub(crate) fn request(server: &str) -> TuneRequest {
        TuneRequest {
            command: ["showdown", "tune", server].map(str::to_owned).to_vec(),
            server: server.to_owned(),
            workload: None,
            on_op: None,
            measure: None,
            slo: None,
            connections: None,
            time: Duration::from_mins(20),
            share: 1.0,
            is_quick: false,
            may_weaken: Vec::new(),
            only: Vec::new(),
            rules: Vec::new(),
            seed: Some(1),
            tags: Vec::new(),
        }
    }

    #[test]
    fn an_objective_asks_for_capacities_and_every_trial_has_the_tag() {
        let plain = request("nginx").of_trials();
        assert_eq!(
            (plain.measure, plain.tags),
            (MeasureRequest::DefaultInClosedLoop, vec!["tune".to_owned()])
        );
        let slo = TuneRequest { slo: Some("p99<5ms".to_owned()), ..request("nginx") };
        assert_eq!(slo.of_trials().measure, MeasureRequest::Default);
        let half = TuneRequest { share: 0.5, ..request("nginx") };
        assert_eq!(half.budget(), Duration::from_mins(10));
    }
}
