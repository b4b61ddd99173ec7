//! What is to be run. It can be written down, so that it can wait.

use std::path::PathBuf;

use archive::model::Plan;
use serde::{Deserialize, Serialize};
use tune::TuneRequest;

/// What is to be run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RunRequest {
    /// A plan of any kind.
    Plan(Box<Plan>),
    /// The rest of a run that was interrupted.
    Resume {
        /// Its directory.
        dir: PathBuf,
        /// Whether the run goes on where a host, the workload or a server is not the one of its first trials.
        accept_changes: bool,
    },
    /// A search for what makes a server faster.
    Tune(Box<TuneRequest>),
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_request_can_be_written_down() -> Result<(), Box<dyn std::error::Error>> {
        let search = TuneRequest {
            command: vec!["showdown".to_owned()],
            server: "nginx".to_owned(),
            workload: None,
            on_op: Some("get-1k".to_owned()),
            measure: Some(tune::TunedMeasure::Capacity),
            slo: Some("p99<5ms".to_owned()),
            connections: None,
            time: Duration::from_mins(20),
            share: 0.4,
            is_quick: true,
            may_weaken: vec![tune::Weakened::Durability],
            only: Vec::new(),
            rules: Vec::new(),
            seed: Some(7),
            tags: Vec::new(),
        };
        let root = tempfile::tempdir()?;
        let id = archive::example::comparison(root.path(), 1)?;
        let plan = archive::Run::open(&root.path().join(id.as_str()))?.plan.ok_or("it has a plan")?;
        let resumed = RunRequest::Resume { dir: "runs/x".into(), accept_changes: true };
        for request in [RunRequest::Plan(Box::new(plan)), resumed, RunRequest::Tune(Box::new(search))] {
            let text = serde_json::to_string(&request)?;
            assert_eq!(serde_json::from_str::<RunRequest>(&text)?, request, "{text}");
        }
        Ok(())
    }
}
