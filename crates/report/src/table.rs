//! The trials as CSV, one row each.

use crate::{ReportError, words};
use archive::{
    Run,
    model::{PhaseKind, Trial, TrialPhase, TrialStatus},
};
use std::collections::BTreeSet;

/// The columns before the axes of a sweep.
const PLACE: [&str; 4] = ["trial", "block", "position", "variant"];
/// The columns after the axes. Times are response times of the central phase, microseconds.
const REST: [&str; 20] = [
    "status",
    "value",
    "unit",
    "metric",
    "offered_per_s",
    "throughput_per_s",
    "response_time_mean_us",
    "response_time_p50_us",
    "response_time_p90_us",
    "response_time_p99_us",
    "response_time_p99_9_us",
    "response_time_p99_99_us",
    "response_time_max_us",
    "client_utilisation",
    "server_cores",
    "server_peak_rss_bytes",
    "saturated_resource",
    "started",
    "folder",
    "reasons",
];

pub(crate) fn render(run: &Run) -> Result<String, ReportError> {
    let axes: BTreeSet<&String> = run.trials.iter().flat_map(|record| record.trial.point.keys()).collect();
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(PLACE.into_iter().chain(axes.iter().map(|axis| axis.as_str())).chain(REST))?;
    for record in &run.trials {
        let trial = &record.trial;
        let place = [
            trial.number.to_string(),
            trial.block.to_string(),
            trial.position.to_string(),
            trial.variant.clone(),
        ];
        let point = axes.iter().map(|axis| text(trial.point.get(*axis)));
        csv.write_record(place.into_iter().chain(point).chain(rest(trial, &record.folder)))?;
    }
    let bytes = csv.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8(bytes).expect("all fields are text"))
}

fn rest(trial: &Trial, folder: &str) -> [String; 20] {
    let measured = trial.measured.as_ref();
    let phase = central(trial);
    let times = phase.map(|phase| &phase.response_time_us);
    let server = trial.server.as_ref();
    [
        status(trial.status).to_owned(),
        text(measured.map(|measured| measured.value)),
        text(measured.map(|measured| &measured.unit)),
        text(measured.map(|measured| &measured.metric)),
        text(phase.and_then(|phase| phase.offered_per_s)),
        text(phase.map(|phase| phase.throughput_per_s)),
        text(times.map(|times| times.mean)),
        text(times.map(|times| times.p50)),
        text(times.map(|times| times.p90)),
        text(times.map(|times| times.p99)),
        text(times.map(|times| times.p99_9)),
        text(times.map(|times| times.p99_99)),
        text(times.map(|times| times.max)),
        text(phase.map(|phase| phase.client.utilisation)),
        text(server.map(|server| server.cores)),
        text(server.map(|server| server.peak_rss_bytes)),
        text(trial.saturated.as_ref().map(|saturated| &saturated.resource)),
        words::utc(trial.started_unix_ms),
        folder.to_owned(),
        trial.reasons.join("; "),
    ]
}

/// The phase that gives a trial its value: the measurement, or else the last step of a curve, or the closed loop.
pub(crate) fn central(trial: &Trial) -> Option<&TrialPhase> {
    let last = |kind| trial.phases.iter().rev().find(move |phase| phase.kind == kind);
    last(PhaseKind::Measure).or_else(|| last(PhaseKind::CurveStep)).or_else(|| last(PhaseKind::ClosedLoop))
}

/// The name of a status in the files.
pub(crate) fn status(status: TrialStatus) -> &'static str {
    match status {
        TrialStatus::Valid => "valid",
        TrialStatus::Invalid => "invalid",
        TrialStatus::Failed => "failed",
        TrialStatus::Interrupted => "interrupted",
    }
}

fn text(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
