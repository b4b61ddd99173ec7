//! How precise a comparison is on this machine now: two equal servers of known behaviour are compared as `compare` does it, in a
//! scratch directory. What is told is what was measured: it does not say how precise a quieter machine would be.
//!
//! What is told is the width of the interval at the first look of a quick comparison, by Student's t from the scatter of the blocks. They are
//! shorter than those of a quick comparison, because a machine is asked for seconds: the noise between restarts is the same, and that
//! within a block is larger. So the width is rather too large.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use archive::Run;
use archive::model::{Plan, PlannedTurns, RatioEstimate, RunLength, Trial, TrialStatus, WarmUpLimits};
use bakeoff::event::Observer;
use bakeoff::plan_request::{MeasureRequest, PlanRequest, plan};
use bakeoff::{FinishedRun, RunPermissions, RunPlanError, confidence_at_look, mean_share};
use host::Host;
use host::scratch::ScratchDirectory;
use load::engine::RunContext;
use serde::Serialize;
use stats::confidence::Confidence;
use stats::expected_width::IntervalWidth;

use crate::failure::RunFailure;

/// The workload: a server of this program, so nothing need be installed.
const WORKLOAD: &str = include_str!("known.toml");
/// Where the workload has the path of this program.
const PROGRAM: &str = "\"showdown\"";

/// The blocks of each measure, as many as a quick comparison has. Each is a restart of both servers.
pub const PRECISION_BLOCKS: u32 = 7;
/// Time under load of each server in a block: about ten slices.
const TURNS: Duration = Duration::from_millis(600);
/// A server that works for a known time has hardly a warm-up.
const WARM_UP: WarmUpLimits =
    WarmUpLimits { min: Duration::from_millis(600), max: Duration::from_millis(600) };

/// How precise a comparison is on this machine now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PrecisionNow {
    /// Of each measure: throughput in a closed loop, and CPU time an operation.
    pub measures: Vec<MeasurePrecision>,
    /// Share of the CPUs that other programs used meanwhile, 0 to 1; none where the kernel does not tell.
    pub others: Option<f64>,
    /// Share of the CPUs that the hypervisor took meanwhile, 0 to 1; none where the kernel does not tell.
    pub stolen: Option<f64>,
}

/// A measure that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbedMeasure {
    /// Operations per second in a closed loop.
    Throughput,
    /// CPU time of the server for each operation.
    CpuTime,
}

impl ProbedMeasure {
    /// Both, in the order in which they are measured.
    pub const ALL: [Self; 2] = [Self::Throughput, Self::CpuTime];

    /// As a sentence has it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::CpuTime => "CPU time an operation",
        }
    }

    fn request(self) -> MeasureRequest {
        match self {
            Self::Throughput => MeasureRequest::Throughput,
            Self::CpuTime => MeasureRequest::CpuTime(None),
        }
    }
}

/// The precision of one measure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasurePrecision {
    /// The measure.
    pub measure: ProbedMeasure,
    /// Half the width that the interval of a ratio has at the first look of a quick comparison, as a share of the ratio; none where too
    /// few trials were valid.
    pub of_quick_comparison: Option<f64>,
    /// The ratio of the two equal servers; none where too few trials were valid.
    pub equal_servers: Option<EqualServers>,
    /// How long its blocks took, seconds.
    pub took_s: f64,
    /// Why trials did not count, each reason once.
    pub reasons: Vec<String>,
}

/// The ratio of two equal servers, which is 1, as it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EqualServers {
    /// The ratio.
    pub ratio: f64,
    /// Lower bound of its 95 % interval.
    pub low: f64,
    /// Upper bound of its 95 % interval.
    pub high: f64,
    /// Number of complete blocks.
    pub blocks: u32,
}

/// The number of trials of a measurement with this many blocks.
pub fn precision_trials(blocks: u32) -> u32 {
    blocks * 2 * ProbedMeasure::ALL.len() as u32
}

/// Measures it. `program` is the path of this program, which is the server, too. Nothing is left behind: no server, no run.
pub fn precision_now(
    program: &Path,
    blocks: u32,
    context: &RunContext,
    observe: &mut Observer<'_>,
) -> Result<PrecisionNow, RunFailure> {
    let host = &Host::local();
    let scratch = ScratchDirectory::create()
        .map_err(|source| RunPlanError::System { what: "make a temporary directory", source })?;
    let workload = known_workload(program, scratch.path())
        .map_err(|source| RunPlanError::System { what: "write a temporary file", source })?;
    let plans = ProbedMeasure::ALL.map(|measure| {
        let quick = quick_plan(&workload, measure, host, None)?;
        Ok((measure, quick, short_plan(&workload, measure, blocks, host)?))
    });
    let plans = plans.into_iter().collect::<Result<Vec<_>, RunFailure>>()?;
    let mut found = PrecisionNow { measures: Vec::new(), others: None, stolen: None };
    let mut seen = Vec::new();
    for (measure, quick, plan) in plans {
        let run = compare(&plan, scratch.path(), context, observe)?;
        found.measures.push(MeasurePrecision::of(measure, &run, &quick));
        seen.extend(run.trials.into_iter().map(|record| record.trial));
    }
    (found.others, found.stolen) = (mean_share(&seen, "others"), mean_share(&seen, "steal"));
    Ok(found)
}

/// Writes the workload, with the path of this program.
fn known_workload(program: &Path, dir: &Path) -> std::io::Result<PathBuf> {
    let folder = dir.join("known");
    fs::create_dir(&folder)?;
    let path = toml::Value::from(program.display().to_string()).to_string();
    let file = folder.join("workload.toml");
    fs::write(&file, WORKLOAD.replace(PROGRAM, &path))?;
    Ok(file)
}

/// The plan of a comparison of the known server with itself, in short blocks.
fn short_plan(workload: &Path, measure: ProbedMeasure, blocks: u32, host: &Host) -> Result<Plan, RunFailure> {
    let plan = quick_plan(workload, measure, host, Some(blocks))?;
    Ok(Plan { turns: Some(PlannedTurns { load: TURNS }), warm_up: WARM_UP, ..plan })
}

/// The same as a quick comparison, with this number of blocks where there is one.
fn quick_plan(
    workload: &Path,
    measure: ProbedMeasure,
    host: &Host,
    blocks: Option<u32>,
) -> Result<Plan, RunFailure> {
    let request = PlanRequest {
        command: ["showdown", "doctor", "--precision"].map(str::to_owned).to_vec(),
        variants: vec!["known".to_owned(); 2],
        workload: Some(workload.display().to_string()),
        measure: measure.request(),
        length: Some(RunLength::Quick),
        blocks,
        spare_blocks: Some(0),
        ..PlanRequest::default()
    };
    Ok(plan(&request, host)?)
}

/// Runs a plan as `compare` does, and reads what it has left.
fn compare(
    plan: &Plan,
    root: &Path,
    context: &RunContext,
    observe: &mut Observer<'_>,
) -> Result<Run, RunFailure> {
    let FinishedRun { dir, interrupted, .. } =
        bakeoff::run_plan(plan, RunPermissions::default(), root, context, observe)?;
    if interrupted {
        return Err(RunFailure::interrupted("before the precision was known"));
    }
    Run::open(&dir).map_err(|source| RunFailure::Unreadable { dir, source })
}

impl MeasurePrecision {
    fn of(measure: ProbedMeasure, run: &Run, quick: &Plan) -> Self {
        let mut comparisons = run.verdict.iter().flat_map(|verdict| &verdict.comparisons);
        let measured = comparisons.find_map(|comparison| comparison.estimate.clone());
        let trials: Vec<&Trial> = run.trials.iter().map(|record| &record.trial).collect();
        let took = took(trials.iter().copied());
        let of_quick_comparison = measured.as_ref().and_then(|estimate| at_first_look(estimate, quick));
        let equal_servers = measured.map(|RatioEstimate { ratio, low, high, blocks, .. }| EqualServers {
            ratio,
            low,
            high,
            blocks,
        });
        let took_s = took.as_secs_f64();
        Self { measure, of_quick_comparison, equal_servers, took_s, reasons: reasons(trials.into_iter()) }
    }
}

/// Half the width of the interval at the first look of this plan, at the level of that look, as a share of the ratio.
fn at_first_look(measured: &RatioEstimate, plan: &Plan) -> Option<f64> {
    let width = IntervalWidth::of_scatter(measured.log_sd, measured.blocks as usize, Confidence::P95)?;
    let look = plan.looks.first().copied()?;
    Some(width.expected(look as usize, confidence_at_look(plan, look)?)?.exp_m1())
}

/// From the begin of the first trial to the end of the last.
fn took<'t>(trials: impl Iterator<Item = &'t Trial> + Clone) -> Duration {
    let begin = trials.clone().map(|trial| trial.started_unix_ms).min().unwrap_or_default();
    let end = trials.map(|trial| trial.started_unix_ms + (trial.duration_s * 1e3) as u64).max();
    Duration::from_millis(end.unwrap_or_default().saturating_sub(begin))
}

/// Why trials did not count, each reason once.
fn reasons<'t>(trials: impl Iterator<Item = &'t Trial>) -> Vec<String> {
    let invalid = trials.filter(|trial| trial.status != TrialStatus::Valid);
    let mut reasons: Vec<String> = Vec::new();
    for reason in invalid.flat_map(|trial| &trial.reasons) {
        if !reasons.contains(reason) {
            reasons.push(reason.clone());
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use archive::model::IntervalMethod;

    use super::*;

    #[test]
    fn the_precision_is_that_of_the_first_look_of_a_quick_comparison()
    -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let workload = known_workload(Path::new("/opt/showdown"), dir.path())?;
        let quick = quick_plan(&workload, ProbedMeasure::CpuTime, &Host::local(), None)?;
        assert_eq!(quick.looks, [7]);
        let measured = RatioEstimate {
            ratio: 1.0,
            low: 0.98,
            high: 1.02,
            blocks: PRECISION_BLOCKS,
            confidence: 0.95,
            method: IntervalMethod::SignedRank,
            log_sd: 0.02,
        };
        // Student's t of six degrees of freedom is 2.79 at the 3.15 % that this look may spend, and 2.45 at 5 %.
        let half_width = at_first_look(&measured, &quick).expect("a width");
        assert!((half_width - 2.79 * 0.02 / 7_f64.sqrt()).abs() < 5e-4, "{half_width}");
        assert_eq!(at_first_look(&RatioEstimate { blocks: 1, ..measured }, &quick), None);
        Ok(())
    }

    #[test]
    fn the_workload_starts_this_program_whatever_its_path_has() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let program = Path::new(r#"/opt/a "b" \c/showdown"#);
        let workload: toml::Table = fs::read_to_string(known_workload(program, dir.path())?)?.parse()?;
        let server = &workload["server"]["known"];
        for command in ["start", "version"] {
            assert_eq!(server[command][0].as_str(), program.to_str(), "{command}");
        }
        assert_eq!(server["start"][1].as_str(), Some("__known-server"));
        Ok(())
    }
}
