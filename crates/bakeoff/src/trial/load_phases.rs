//! The load of one trial: parts of one load, one after the other, on the same server and connections, and their record.

use std::time::{Duration, Instant};

use archive::model::{PhaseKind, PhaseSlices, Plan, Tick, TrialPhase};
use load::capacity::{BudgetUse, RatedSlices, StepEvaluation, evaluate};
use load::engine::{LoadEvent, LoadOutcome, RunContext, RunError};
use load::inputs::slo::Slo;
use load::slices::{DrawnSlice, LoadedServer, MergedSlices, Slice};
use load::spec::{LoadPart, LoadSpec, Shape};
use load::summary::Summary;
use machine::{CpuMeter, MachineError, ServerCpuUsed};

use super::cpu_account::{CpuAccount, SliceCpu};
use super::record::phases::{ClientCounts, operations, phase, spent_budget, time_line};
use super::setup::TrialError;
use crate::event::{Event, Observer};
use crate::plan::preset::interval_of;

/// Interval at which operations that last seconds are recorded.
const LONG_OPERATION_INTERVAL: Duration = Duration::from_millis(100);

/// One run of the engine with its numbers, which are computed once.
pub struct MeasuredRun {
    /// What was recorded.
    pub outcome: LoadOutcome,
    /// Its numbers.
    pub summary: Summary,
}

impl From<LoadOutcome> for MeasuredRun {
    fn from(outcome: LoadOutcome) -> Self {
        Self { summary: Summary::of(&outcome), outcome }
    }
}

/// The parts of a trial's load.
pub struct LoadPhases<'a> {
    /// The variant of the server.
    name: String,
    server: LoadedServer<'a>,
    /// Reads the server's CPU time before and after each slice, where that is measured.
    meter: Option<Box<dyn CpuMeter>>,
    /// That CPU time.
    pub cpu: CpuAccount,
    /// The phases so far.
    pub phases: Vec<TrialPhase>,
    /// The time line so far.
    pub time_line: Vec<Tick>,
    /// Operations and counters of all runs.
    pub client_counts: ClientCounts,
    /// Whether the user has interrupted the trial.
    pub interrupted: bool,
}

/// What is left of a load when its connections are closed.
pub struct ClosedLoad {
    /// The phases.
    pub phases: Vec<TrialPhase>,
    /// The time line.
    pub time_line: Vec<Tick>,
    /// Operations and counters of all runs.
    pub client_counts: ClientCounts,
    /// Whether the user has interrupted the trial.
    pub interrupted: bool,
}

/// The load of a plan for a server with this number of connections: no worker is without one.
pub fn with_connections(plan: &Plan, of_server: LoadSpec, connections: u32) -> LoadSpec {
    let workers = (plan.load.threads * plan.client_count()).min(connections);
    LoadSpec { connections, workers, ..of_server }
}

impl<'a> LoadPhases<'a> {
    /// Runs take all but shape, length and interval from `spec`; times count from `began`.
    pub fn new(name: &str, spec: LoadSpec, context: &'a RunContext, began: Instant) -> Self {
        Self {
            name: name.to_owned(),
            server: LoadedServer::new(spec, context, began),
            meter: None,
            cpu: CpuAccount::default(),
            phases: Vec::new(),
            time_line: Vec::new(),
            client_counts: ClientCounts::default(),
            interrupted: false,
        }
    }

    /// Reads the CPU time of the server, and of these parts of it, before and after each slice.
    #[must_use]
    pub fn metering(self, server: Box<dyn CpuMeter>, parts: Vec<String>) -> Self {
        Self { meter: Some(server), cpu: CpuAccount::of_parts(parts), ..self }
    }

    /// What the load is, except for its length.
    pub fn spec(&self) -> &LoadSpec {
        &self.server.spec
    }

    /// The load in which as much is carried out as the server and the delays of users allow: a closed loop without think time, or the
    /// visits that arrive.
    pub fn own_pace(&self) -> Shape {
        let of_visits = self.server.spec.users.is_some().then(|| self.server.spec.part.shape.clone());
        of_visits.unwrap_or(Shape::closed())
    }

    /// A loop at the load's own pace.
    pub fn closed_loop(
        &mut self,
        length: Duration,
        interval: Duration,
        observe: &mut Observer<'_>,
    ) -> Result<MeasuredRun, RunError> {
        let start = self.server.elapsed();
        let part = self.part(self.own_pace());
        let run = self.run(LoadPart { duration: Some(length), interval, ..part }, observe)?;
        self.keep(PhaseKind::ClosedLoop, start, &run, None);
        Ok(run)
    }

    /// Keeps with the last phase, a closed loop, what its standstills spent of an objective's budget. None where that is not known.
    pub fn count_standstills(&mut self, slo: &Slo, closed: &LoadOutcome) -> Option<BudgetUse> {
        let standstills = BudgetUse::of_standstills(slo, closed)?;
        let phase = self.phases.last_mut()?;
        phase.spent = Some(spent_budget(phase.throughput_per_s, &standstills, None));
        Some(standstills)
    }

    /// A number of operations, one after the other, however long they take.
    pub fn operations(
        &mut self,
        kind: PhaseKind,
        count: u64,
        observe: &mut Observer<'_>,
    ) -> Result<MeasuredRun, RunError> {
        let start = self.server.elapsed();
        let part = LoadPart { duration: None, requests: Some(count), ..self.part(Shape::closed()) };
        let run = self.run(LoadPart { interval: LONG_OPERATION_INTERVAL, ..part }, observe)?;
        self.keep(kind, start, &run, None);
        Ok(run)
    }

    /// A level of load at which watts are measured, after a time in which it settles. Returns when the measuring began, from the
    /// begin of the trial. It is no phase: what it measures is recorded with its watts.
    pub fn level(
        &mut self,
        shape: Shape,
        settle: Duration,
        measure: Duration,
        observe: &mut Observer<'_>,
    ) -> Result<(Duration, MeasuredRun), RunError> {
        let part = LoadPart { duration: Some(measure), warmup: settle, ..self.part(shape) };
        let run = self.run(LoadPart { interval: interval_of(measure), ..part }, observe)?;
        let outcome = &run.outcome;
        let start = self.server.elapsed().saturating_sub(outcome.measured + outcome.draining);
        self.time_line.extend(time_line(outcome, start));
        Ok((start, run))
    }

    /// Closes the connections for good. Servers may count late what an open one has done: a session of PostgreSQL reports once a
    /// second, and when it ends.
    pub fn close(self) -> ClosedLoad {
        let Self { server, phases, time_line, client_counts, interrupted, .. } = self;
        drop(server);
        ClosedLoad { phases, time_line, client_counts, interrupted }
    }

    /// Closes the connections and opens others.
    pub fn reconnect(&mut self) -> Result<(), RunError> {
        self.server.reconnect()
    }

    /// How long it took to open the connections; none where each operation opens its own.
    pub fn connecting(&self) -> Option<Duration> {
        self.server.connecting()
    }

    /// One slice, which other servers' slices come before and after. It becomes a part of a phase by
    /// [`LoadPhases::keep_slices`].
    pub fn slice(
        &mut self,
        shape: Shape,
        drawn: &DrawnSlice,
        observe: &mut Observer<'_>,
    ) -> Result<Slice, TrialError> {
        self.slice_of(&self.server.part_of(shape, drawn), observe)
    }

    /// The same of one continuous load in the server's own time, whose operations have fallen due for this long while the slice
    /// before drained.
    pub fn slice_in_own_time(
        &mut self,
        shape: Shape,
        due_before: Duration,
        drawn: &DrawnSlice,
        observe: &mut Observer<'_>,
    ) -> Result<Slice, TrialError> {
        self.slice_of(&self.server.part_in_own_time(shape, due_before, drawn), observe)
    }

    fn slice_of(&mut self, part: &LoadPart, observe: &mut Observer<'_>) -> Result<Slice, TrialError> {
        let before = self.cpu_used()?;
        let begun = Instant::now();
        let outcome = self.outcome(part, observe)?;
        let operations = operations(&outcome);
        let slice = self.server.slice_of(outcome);
        if let Some((before, after)) = before.zip(self.cpu_used()?) {
            self.cpu.count(&SliceCpu { before, after, length: begun.elapsed(), operations });
        }
        Ok(slice)
    }

    /// CPU time of the server so far, where it is metered.
    fn cpu_used(&self) -> Result<Option<ServerCpuUsed>, MachineError> {
        self.meter.as_ref().map(|meter| meter.used()).transpose()
    }

    /// Keeps merged slices as a phase.
    pub fn keep_slices(&mut self, kind: PhaseKind, merged: MergedSlices, slo: Option<&Slo>) -> MeasuredRun {
        let MergedSlices { start, span, count, outcome } = merged;
        let run = MeasuredRun::from(outcome);
        let evaluation = slo.map(|slo| evaluate(slo, &run.outcome, &run.summary));
        self.keep(kind, start, &run, evaluation.as_ref());
        if let Some(phase) = self.phases.last_mut() {
            phase.slices = Some(PhaseSlices { count, span_s: span.as_secs_f64() });
        }
        run
    }

    /// Keeps the slices of levels at about one rate as a phase, with what they spent of the objective's budget.
    pub fn keep_level(&mut self, kind: PhaseKind, slices: RatedSlices, slo: &Slo) -> MeasuredRun {
        let late_share = slices.spent.late_share(slo);
        let spent = spent_budget(slices.rate_per_s(), &slices.spent, late_share);
        let burn_rate = slices.spent.burn_rate();
        let run = self.keep_slices(kind, slices.merged(), Some(slo));
        if let Some(phase) = self.phases.last_mut() {
            phase.meets_slo = burn_rate.map(|burn| burn <= 1.0);
            phase.spent = Some(spent);
        }
        run
    }

    /// The part of the load that its spec has, with this shape.
    fn part(&self, shape: Shape) -> LoadPart {
        LoadPart { shape, ..self.server.spec.part.clone() }
    }

    fn run(&mut self, part: LoadPart, observe: &mut Observer<'_>) -> Result<MeasuredRun, RunError> {
        // Every run of a trial draws other random numbers, and all of them follow from the plan's seed.
        let seed = &mut self.server.spec.part.seed;
        *seed = seed.wrapping_add(1);
        let seed = *seed;
        self.outcome(&LoadPart { seed, ..part }, observe).map(MeasuredRun::from)
    }

    fn outcome(&mut self, part: &LoadPart, observe: &mut Observer<'_>) -> Result<LoadOutcome, RunError> {
        let workers = f64::from(self.server.spec.workers);
        let name = &self.name;
        let outcome = self.server.run(part, &mut |event| {
            if let LoadEvent::Tick { stats, .. } = event {
                let response = stats.response_times();
                let at = |quantile| (!response.is_empty()).then(|| response.value_at_quantile(quantile));
                let seconds = stats.client.wall_ns as f64 / 1e9 / workers;
                observe(Event::Tick {
                    name: name.clone(),
                    throughput_per_s: stats.succeeded() as f64 / seconds.max(1e-3),
                    p50_us: at(0.5),
                    p99_us: at(0.99),
                    gave_up_from_us: stats.gave_up_from_us(),
                    failed: stats.failed(),
                });
            }
        })?;
        self.interrupted |= outcome.interrupted;
        self.client_counts.add(&outcome);
        Ok(outcome)
    }

    fn keep(
        &mut self,
        kind: PhaseKind,
        start: Duration,
        run: &MeasuredRun,
        evaluation: Option<&StepEvaluation>,
    ) {
        let meets_slo = evaluation.map(StepEvaluation::meets_slo);
        let mut phase = phase(kind, start, &run.outcome, &run.summary, meets_slo);
        if let Some(evaluation) = evaluation {
            // Where there is an objective, a run is as valid as the search takes it to be.
            phase.valid = evaluation.client_reasons.is_empty();
            phase.reasons.clone_from(&evaluation.client_reasons);
        }
        self.phases.push(phase);
        self.time_line.extend(time_line(&run.outcome, start));
    }
}
