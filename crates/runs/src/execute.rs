//! The way of each kind of run, from a request to an answer.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

use archive::Run;
use archive::model::{Plan, RunKind, TrialStatus};
use bakeoff::event::{Event, Observer};
use bakeoff::{FinishedRun, InterruptedRun, PlannedKind, RunPermissions, RunPlanError};
use concurrency::{BreakingPoints, ConcurrencyPermissions, FinishedConcurrency};
use explain::ExplainedRun;
use load::engine::RunContext;
use tune::{FinishedSearch, TuneRequest};

use crate::answer::{EndedRun, RunAnswer, RunResult, has_no_value};
use crate::event::{RunEvent, RunObserver};
use crate::failure::RunFailure;
use crate::permissions::Permissions;
use crate::request::RunRequest;
use crate::resume_command::resume_command;

/// Does what is asked for. Run directories are created in `root`. The flag of the context stops it.
pub fn execute(
    request: &RunRequest,
    permissions: &Permissions,
    root: &Path,
    context: &RunContext,
    observe: &mut RunObserver<'_>,
) -> Result<RunAnswer, RunFailure> {
    let run = Execution { permissions, root, context };
    let observe = &mut |event| observe(RunEvent::now(event));
    match request {
        RunRequest::Plan(plan) => run.plan(plan, observe),
        RunRequest::Resume { dir, accept_changes } => {
            let interrupted = InterruptedRun::open(dir)?;
            run.trials(interrupted.plan().kind, observe, |given, observe| {
                bakeoff::resume_run(interrupted, *accept_changes, given, context, observe)
            })
        }
        RunRequest::Tune(request) => run.tune(request, observe),
    }
}

/// What all kinds are executed with.
#[derive(Clone, Copy)]
struct Execution<'e> {
    permissions: &'e Permissions,
    root: &'e Path,
    context: &'e RunContext,
}

impl Execution<'_> {
    fn plan(self, plan: &Plan, observe: &mut Observer<'_>) -> Result<RunAnswer, RunFailure> {
        match PlannedKind::of(plan)? {
            PlannedKind::Compare | PlannedKind::Sweep => self.trials(plan.kind, observe, |given, observe| {
                bakeoff::run_plan(plan, given, self.root, self.context, observe)
            }),
            PlannedKind::Explain(_) => self.explain(plan, observe),
            PlannedKind::Concurrency(_) => self.concurrency(plan, observe),
        }
    }

    fn trials(
        self,
        kind: RunKind,
        observe: &mut Observer<'_>,
        run: impl FnOnce(RunPermissions<'_>, &mut Observer<'_>) -> Result<FinishedRun, RunPlanError>,
    ) -> Result<RunAnswer, RunFailure> {
        let breaking_points = BreakingPoints::default();
        let given = RunPermissions { breaking_point: Some(&breaking_points), ..self.given() };
        let finished = run(given, &mut |event| {
            if let Event::RunBegins { dir, .. } = &event {
                // The report of a run that is resumed is out of date.
                let _ = fs::remove_file(Path::new(dir).join(report::FILE_NAME));
            }
            observe(event);
        })?;
        let FinishedRun { dir, verdict, interrupted, stopped, unrestored } = finished;
        let stopped = stopped.map(|why| {
            let (kept, resume) = (dir.display(), resume_command(&dir));
            if has_no_value(&verdict) {
                return stopped_without_value(&why, &dir);
            }
            format!("the run stopped early: {why} (the finished trials are kept in {kept}): {resume} goes on")
        });
        let result = RunResult::Trials { kind, verdict };
        EndedRun { dir, result, interrupted, stopped, unrestored }.answer(self.permissions.prices.as_ref())
    }

    fn explain(self, plan: &Plan, observe: &mut Observer<'_>) -> Result<RunAnswer, RunFailure> {
        let explained = explain::explain(plan, self.kernel_settings(), self.root, self.context, observe);
        let explained = self.unless_stopped(explained, "before anything was found")?;
        let ExplainedRun { dir, explanation, ended, unrestored } = explained;
        let kept = dir.display();
        let stopped = ended.map(|error| format!("{error} (what was found until then is kept in {kept})"));
        let interrupted = self.is_stopped();
        let result = RunResult::Explanation(explanation);
        EndedRun { dir, result, interrupted, stopped, unrestored }.answer(None)
    }

    fn concurrency(self, plan: &Plan, observe: &mut Observer<'_>) -> Result<RunAnswer, RunFailure> {
        let Permissions { target_is_mine, programs, .. } = self.permissions;
        let given = ConcurrencyPermissions { target_is_mine: *target_is_mine, programs };
        let finished = concurrency::run(plan, given, self.root, self.context, observe);
        let finished = self.unless_stopped(finished, "before the first step")?;
        let FinishedConcurrency { dir, concurrency, stopped, unrestored } = finished;
        let kept = dir.display();
        let stopped =
            stopped.map(|error| format!("{error} (what was measured until then is kept in {kept})"));
        let interrupted = concurrency.interrupted;
        let result = RunResult::Concurrency(concurrency);
        EndedRun { dir, result, interrupted, stopped, unrestored }.answer(None)
    }

    fn tune(self, request: &TuneRequest, observe: &mut Observer<'_>) -> Result<RunAnswer, RunFailure> {
        let finished = tune::tune(request, self.kernel_settings(), self.root, self.context, observe)?;
        let FinishedSearch { dir, record, interrupted, unrestored } = finished;
        let (kept, why) = (dir.display(), record.ended.as_ref().filter(|_| !interrupted));
        let stopped =
            why.map(|why| format!("the search ended early: {why} (what was learnt is kept in {kept})"));
        EndedRun { dir, result: RunResult::Tuning(record), interrupted, stopped, unrestored }.answer(None)
    }

    /// What trials may do, without what finds breaking points.
    fn given(&self) -> RunPermissions<'_> {
        let Permissions { kernel, programs, meters, .. } = self.permissions;
        RunPermissions { kernel, programs, meters, breaking_point: None }
    }

    /// What a study and a search may do beside what every run may: set kernel settings.
    fn kernel_settings(&self) -> RunPermissions<'_> {
        RunPermissions { kernel: &self.permissions.kernel, ..RunPermissions::default() }
    }

    fn is_stopped(&self) -> bool {
        self.context.interrupted.load(Ordering::Relaxed)
    }

    /// Whatever could not be done when the user had stopped the run: that is why.
    fn unless_stopped<T, E: Into<RunFailure>>(
        &self,
        result: Result<T, E>,
        when: &'static str,
    ) -> Result<T, RunFailure> {
        result.map_err(|error| if self.is_stopped() { RunFailure::interrupted(when) } else { error.into() })
    }
}

/// Why a run stopped before any trial counted. To go on with it would end in the same way, so the server's log is what helps.
fn stopped_without_value(why: &str, dir: &Path) -> String {
    let run = Run::open(dir).ok();
    let failed = run.iter().flat_map(|run| &run.trials).filter(|one| one.trial.status == TrialStatus::Failed);
    let logs = failed.filter_map(|one| one.trial.files.logs_of(why).last().map(|log| dir.join(log)));
    match logs.into_iter().find(|log| log.is_file()) {
        Some(log) => {
            // Reasons have the log within the run.
            let why = why.split("; the server's log is ").next().unwrap_or(why);
            format!("{why}: try its command by hand; its log: {}", log.display())
        }
        None => format!("{why} (the run is kept in {})", dir.display()),
    }
}
