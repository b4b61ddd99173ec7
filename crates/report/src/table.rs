//! The trials as CSV, one row each.

use crate::{
    ReportError,
    cell::{number, word},
    watts_columns::WattsColumns,
    words,
};
use archive::{
    Run,
    model::{PhaseKind, Trial, TrialPhase, TrialStatus},
};
use std::collections::BTreeSet;

/// The columns before the axes of a sweep.
const PLACE: [&str; 4] = ["trial", "block", "position", "variant"];
/// The columns after the axes. Times are response times of the central phase, microseconds.
const REST: [&str; 23] = [
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
    "gave_up_from_us",
    "client_utilisation",
    "server_cores",
    "server_user_us_per_operation",
    "server_system_us_per_operation",
    "server_peak_rss_bytes",
    "saturated_resource",
    "started",
    "folder",
    "reasons",
];

pub(crate) fn render(run: &Run) -> Result<String, ReportError> {
    let axes: BTreeSet<&String> = run.trials.iter().flat_map(|record| record.trial.point.keys()).collect();
    let mut csv = csv::Writer::from_writer(Vec::new());
    let fixed = |names: &'static [&'static str]| names.iter().map(|name| (*name).to_owned());
    let watts = WattsColumns::of(run);
    let axes_names = axes.iter().map(|axis| word(axis));
    csv.write_record(fixed(&PLACE).chain(axes_names).chain(fixed(&REST)).chain(watts.names()))?;
    for record in &run.trials {
        let trial = &record.trial;
        let place = [
            trial.number.to_string(),
            trial.block.to_string(),
            trial.position.to_string(),
            word(&trial.variant),
        ];
        let point = axes.iter().map(|axis| word(&number(trial.point.get(*axis))));
        let rest = rest(trial, &record.folder).into_iter().chain(watts.cells(trial));
        csv.write_record(place.into_iter().chain(point).chain(rest))?;
    }
    let bytes = csv.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8(bytes).expect("all fields are text"))
}

fn rest(trial: &Trial, folder: &str) -> [String; 23] {
    let measured = trial.measured.as_ref();
    let phase = central(trial);
    let times = phase.map(|phase| &phase.response_time_us);
    let server = trial.server.as_ref();
    [
        status(trial.status).to_owned(),
        number(measured.map(|measured| measured.value)),
        measured.map(|measured| word(&measured.unit)).unwrap_or_default(),
        measured.map(|measured| word(&measured.metric)).unwrap_or_default(),
        number(phase.and_then(|phase| phase.offered_per_s)),
        number(phase.map(|phase| phase.throughput_per_s)),
        number(times.map(|times| times.mean)),
        number(times.map(|times| times.p50)),
        number(times.map(|times| times.p90)),
        number(times.map(|times| times.p99)),
        number(times.map(|times| times.p99_9)),
        number(times.map(|times| times.p99_99)),
        number(times.map(|times| times.max)),
        number(phase.and_then(|phase| phase.gave_up_from_us)),
        number(phase.map(|phase| phase.client.utilisation)),
        number(server.map(|server| server.cores)),
        number(trial.cpu_time.as_ref().map(|cpu| cpu.user_us)),
        number(trial.cpu_time.as_ref().map(|cpu| cpu.system_us)),
        number(server.map(|server| server.peak_rss_bytes)),
        trial.saturated.as_ref().map(|saturated| word(&saturated.resource)).unwrap_or_default(),
        words::utc(trial.started_unix_ms),
        word(folder),
        word(&trial.reasons.join("; ")),
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
