//! Trials of real servers for a search: each step is a run of `bakeoff` with its plan, its gates and its directory.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, io};

use archive::Run;
use archive::layout::SEARCH;
use archive::model::{Measure, Plan, ReplacedMeasure, RunLength};
use bakeoff::event::{Event, Observer};
use bakeoff::plan_request::{self, PlanRequest};
use bakeoff::study_server::StudyEnd;
use bakeoff::{
    FinishedRun, RunPermissions, RunPlanError, replaced_sentence, replacement_before_gains, run_plan,
};
use explain::{LoopFigures, PlainFigures, figures_under_load};
use host::Host;
use load::engine::RunContext;
use workload::VariantText;

use crate::lab::{LabError, Settings, Stage, StageLoad, StageTrials, TuningLab};
use crate::trial_figures::{has_text, reading};

/// Time under load of a server in a block of a quick search.
const QUICK_TURNS: Duration = Duration::from_secs(1);
/// Time under load of a server in a block of another search that seeks capacities. Candidates differ by little, and a block costs
/// the same starts and warm-ups whatever it measures.
const TURNS: Duration = Duration::from_secs(3);
/// The same of other measures, whose slices scatter less: shorter blocks leave time for more candidates.
const TURNS_OF_LOOPS: Duration = Duration::from_millis(2_100);
/// A closed loop of a quick search.
const QUICK_LOOP: Duration = Duration::from_millis(600);

/// How long a stage waits for another showdown that measures on this machine, and how often it looks.
const LONGEST_WAIT: Duration = Duration::from_mins(10);
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Runs the trials of a search.
pub struct BakeoffLab<'a> {
    request: PlanRequest,
    baseline: VariantText,
    is_quick: bool,
    permissions: RunPermissions<'a>,
    root: PathBuf,
    context: &'a RunContext,
    observe: &'a mut Observer<'a>,
    begun: Instant,
    /// The measure of all stages, which the first one decides, and what it replaced.
    measure: Option<(Measure, Option<ReplacedMeasure>)>,
    /// The run of the last stage.
    last_stage: Option<Run>,
    /// Whether the server is asked what it says of itself.
    asks_server: bool,
    /// Kernel settings that could not be restored.
    pub unrestored: Vec<String>,
}

impl<'a> BakeoffLab<'a> {
    /// A lab that keeps its runs in this folder. The request has everything but variants and blocks.
    pub fn new(
        request: PlanRequest,
        baseline: VariantText,
        is_quick: bool,
        permissions: RunPermissions<'a>,
        root: PathBuf,
        context: &'a RunContext,
        observe: &'a mut Observer<'a>,
    ) -> Self {
        Self {
            request,
            baseline,
            is_quick,
            permissions,
            root,
            context,
            observe,
            begun: Instant::now(),
            measure: None,
            last_stage: None,
            asks_server: false,
            unrestored: Vec::new(),
        }
    }

    /// Whether the server is asked what it says of itself: it can be, and a tuning depends on it.
    #[must_use]
    pub fn asking_server(self, asks_server: bool) -> Self {
        Self { asks_server, ..self }
    }

    /// The baseline with these settings, as a variant is written.
    pub fn written(&self, settings: &Settings) -> String {
        let own = self.baseline.settings.iter().filter(|(name, _)| !settings.contains_key(name));
        let all = own.map(|(name, value)| (name, value)).chain(settings);
        let all: Vec<String> = all.map(|(name, value)| format!("{name}={value}")).collect();
        let colon = if all.is_empty() { "" } else { ":" };
        format!("{}{colon}{}", self.baseline.server, all.join(","))
    }

    fn plan(&self, load: StageLoad, of: &[Settings], blocks: u32) -> Result<Plan, String> {
        let request = PlanRequest {
            variants: of.iter().map(|settings| self.written(settings)).collect(),
            blocks: Some(blocks),
            // What is invalid is seen by the search, which asks for more blocks where it needs them.
            spare_blocks: Some(if blocks >= 6 { blocks / 3 } else { 0 }),
            length: Some(RunLength::Quick),
            ..self.request.clone()
        };
        let mut plan = plan_request::plan(&request, &Host::local()).map_err(|error| error.to_string())?;
        plan.looks = Vec::new();
        if let Some((measure, replaced)) = &self.measure {
            (plan.measure, plan.replaced) = (measure.clone(), replaced.clone());
            plan.fallback = None;
        }
        if let StageLoad::OpenLoop { rate_per_s } = load {
            plan.measure = Measure::LatencyCurve { rates_per_s: vec![rate_per_s], slo: None };
            (plan.replaced, plan.fallback) = (None, None);
        }
        if self.is_quick {
            shorten(&mut plan);
        } else if let Some(turns) = &mut plan.turns
            && !plan.measure.is_of_users()
        {
            let is_capacity = plan.measure.is_capacity();
            turns.load = if is_capacity { TURNS } else { TURNS_OF_LOOPS };
        }
        Ok(plan)
    }

    /// Runs a plan in a thread of its own: a run keeps its thread on the client's CPUs, and the next plan is to see all of them.
    fn run(&mut self, plan: &Plan) -> Result<FinishedRun, RunPlanError> {
        let Self { permissions, root, context, observe, .. } = self;
        let permissions = *permissions;
        in_a_thread(|| run_plan(plan, permissions, root, context, observe))
    }

    /// Loads the servers of a plan in a thread of its own.
    fn load_servers(&mut self, plan: &Plan) -> Result<StudyEnd<LoopFigures>, RunPlanError> {
        let Self { permissions, context, observe, .. } = self;
        let permissions = *permissions;
        in_a_thread(|| figures_under_load(plan, permissions, context, observe))
    }

    /// The figures of the baseline, from a server under load. An error says why there are none.
    fn watch(&mut self) -> Result<PlainFigures, String> {
        let stage = self.last_stage.as_ref().and_then(|run| run.plan.clone());
        let mut plan = stage.ok_or("the plan of the last stage cannot be read")?;
        plan.variants.truncate(1);
        plan.length = if self.is_quick { RunLength::Quick } else { RunLength::Default };
        let plan = plan_request::explaining(&plan, &[], false).map_err(|error| error.to_string())?;
        let study = self.when_free(|lab| lab.load_servers(&plan)).map_err(|error| error.to_string())?;
        self.unrestored.extend(study.unrestored);
        let mut figures = study.result.map_err(|error| error.to_string())?;
        figures.pop().ok_or_else(|| "no server was held".to_owned())
    }

    /// Does what measures. Between two stages another showdown may begin to measure here: it is waited for, also where the first
    /// stage begins again with another measure.
    fn when_free<T>(
        &mut self,
        measure: impl Fn(&mut Self) -> Result<T, RunPlanError>,
    ) -> Result<T, RunPlanError> {
        let until = Instant::now() + LONGEST_WAIT;
        loop {
            match measure(self) {
                Err(error) if error.is_taken() && self.measure.is_some() && Instant::now() < until => {
                    self.say(&format!("waiting: {error}"));
                    thread::sleep(POLL_INTERVAL);
                    if self.is_interrupted() {
                        return Err(error);
                    }
                }
                ended => return ended,
            }
        }
    }

    fn is_interrupted(&self) -> bool {
        self.context.interrupted.load(Ordering::Relaxed)
    }

    /// Whether the first stage, which has the baseline alone, has ended.
    fn has_measured(&self) -> bool {
        self.last_stage.is_some()
    }

    /// Whether the first stage begins again with another measure, because a faster server would have the client as its limit.
    fn replaces_measure(&mut self, planned: &Plan, run: &Run) -> Result<bool, LabError> {
        let trials: Vec<_> = run.trials.iter().map(|record| &record.trial).collect();
        let replacement =
            run.facts.as_ref().and_then(|facts| replacement_before_gains(planned, facts, &trials));
        let Some((measure, replaced)) = replacement else { return Ok(false) };
        let sentence = replaced_sentence(&measure, &replaced);
        (self.observe)(Event::MeasureReplaced { sentence });
        // Its trials answer nothing, as those of a first block whose measure is replaced.
        fs::remove_dir_all(&run.dir)
            .map_err(|error| LabError::Failed(format!("cannot remove {}: {error}", run.dir.display())))?;
        self.measure = Some((measure, Some(replaced)));
        Ok(true)
    }

    fn why_not(&self, error: &RunPlanError) -> LabError {
        if self.is_interrupted() {
            LabError::Interrupted
        } else if self.has_measured() && error.is_of_settings() {
            LabError::Refused(error.to_string())
        } else {
            LabError::Failed(error.to_string())
        }
    }

    /// Runs blocks; again where the first one shows that the measure must be replaced.
    fn run_blocks(&mut self, load: StageLoad, of: &[Settings], blocks: u32) -> Result<StageTrials, LabError> {
        let plan = self.plan(load, of, blocks).map_err(|why| {
            if self.has_measured() { LabError::Refused(why) } else { LabError::Failed(why) }
        })?;
        let finished = self.when_free(|lab| lab.run(&plan)).map_err(|error| self.why_not(&error))?;
        self.unrestored.extend(finished.unrestored);
        if self.is_interrupted() {
            return Err(LabError::Interrupted);
        }
        let run = Run::open(&finished.dir).map_err(|error| LabError::Failed(error.to_string()))?;
        // The first block may have replaced the measure, and chosen a rate.
        let measured = run.plan.clone().unwrap_or_else(|| plan.clone());
        if measured.measure == plan.measure && self.replaces_measure(&plan, &run)? {
            return self.run_blocks(load, of, blocks);
        }
        let plan = measured;
        self.measure.get_or_insert_with(|| (plan.measure.clone(), plan.replaced.clone()));
        let name = finished.dir.file_name().map(|name| name.to_string_lossy().into_owned());
        let trials = run.trials.iter().filter_map(|record| reading(&run, &plan, &record.trial)).collect();
        self.last_stage = Some(run);
        Ok(StageTrials {
            run: name.unwrap_or_default(),
            higher_is_better: finished.verdict.higher_is_better,
            sentence: finished.verdict.sentence.clone(),
            stopped: finished.stopped,
            trials,
        })
    }
}

impl TuningLab for BakeoffLab<'_> {
    fn blocks(&mut self, stage: Stage<'_>, of: &[Settings], blocks: u32) -> Result<StageTrials, LabError> {
        self.run_blocks(stage.load, of, blocks)
    }

    fn watch_baseline(&mut self) -> Result<BTreeMap<String, f64>, LabError> {
        if !self.asks_server {
            return Ok(BTreeMap::new());
        }
        self.say("the server's own statistics: what calls for a tuning?");
        let watched = self.watch();
        if self.is_interrupted() {
            return Err(LabError::Interrupted);
        }
        let (figures, why_not) = match watched {
            Ok(PlainFigures { values, statistics_problem }) => (values, statistics_problem),
            Err(why) => (BTreeMap::new(), Some(why)),
        };
        if let Some(why) = why_not {
            self.say(&format!("the server's own statistics are not known: {why}"));
        }
        Ok(figures)
    }

    fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    fn is_configured(&self, of: usize, text: &str) -> bool {
        self.last_stage.as_ref().is_none_or(|run| has_text(run, of, text))
    }

    fn say(&mut self, what: &str) {
        (self.observe)(Event::Said { what: what.to_owned() });
    }
}

/// Does it in a thread of its own.
fn in_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(work).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Shortens the trials of a plan to those of a quick search. Those of users are as long as their walk needs.
pub fn shorten(plan: &mut Plan) {
    if plan.measure.is_of_users() {
        return;
    }
    plan.phases.closed_loop = QUICK_LOOP;
    plan.warm_up.min = QUICK_LOOP;
    if let Some(turns) = &mut plan.turns {
        turns.load = QUICK_TURNS;
    }
}

/// Moves the run of a search that answers its question to the archive, and the others below it. Returns its new directory.
pub fn keep(search: &Path, answer: &str, archive: &Path) -> io::Result<PathBuf> {
    let kept = archive.join(answer);
    fs::rename(search.join(answer), &kept)?;
    fs::set_permissions(search, fs::Permissions::from_mode(0o755))?;
    fs::rename(search, kept.join(SEARCH))?;
    Ok(kept)
}

/// The first run of a search, by its name: that of equal servers. None where none has begun.
pub fn first_run(search: &Path) -> Option<String> {
    let names = fs::read_dir(search).ok()?.flatten().map(|entry| entry.file_name());
    let names = names.filter_map(|name| name.into_string().ok());
    names.filter(|name| !name.starts_with('.')).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = r#"
format = 2
showdown = "0.1.0"
command = ["showdown", "tune", "web"]
kind = "compare"
workload = "static-web"
length = "quick"
seed = 1
blocks = 4
spare_blocks = 2
measure = { metric = "METRIC" }
load = { connections = 64, threads = 1 }
cpus = { server = "0", client = "1" }
warm_up = { min = "10s", max = "20s" }
phases = { closed_loop = "1s", search_step = "1s", measure = "1s", curve_step = "1s" }
turns = { load = "5s" }
variants = [{ name = "a", server = "nginx", knobs = {} }, { name = "b", server = "nginx", knobs = {} }]
"#;

    #[test]
    fn a_quick_search_leaves_users_the_time_that_their_walk_needs() {
        for (metric, warm_up, turns) in [
            ("max_throughput", QUICK_LOOP, QUICK_TURNS),
            ("user_cpu_time", Duration::from_secs(10), Duration::from_secs(5)),
        ] {
            let mut plan: Plan = PLAN.replace("METRIC", metric).parse().expect("a plan");
            shorten(&mut plan);
            assert_eq!(plan.warm_up.min, warm_up, "{metric}");
            assert_eq!(plan.turns.map(|planned| planned.load), Some(turns), "{metric}");
        }
    }
}
