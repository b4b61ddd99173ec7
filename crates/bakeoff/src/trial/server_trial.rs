//! One server under test of a trial, from its start to its end: the trial has the server, its load and what is known of
//! both so far. What is measured, and when, is left to [`one_server`](super::one_server) and [`turns`](super::turns); what is concluded
//! from it and written is in [`record`].

mod record;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use archive::model::{Concurrency, Measure, Trial, TrialStatus, TrialTurns, VariantFacts};
use archive::{ArchiveError, TrialWriter};
use host::secrets;
use load::drivers::ProtocolSpec;
use load::outside_load::{self, OutsideLoads};
use load::spec::LoadSpec;
use machine::{CpuMeter, MachineError, RecordedServer, SystemUnderTest};
use workload::{OperationCount, ServerDefinition, ServerVariant, Verification};

use super::background;
use super::breaking_point::BreakingServer;
use super::interleaved_trial::KernelTurn;
use super::load_phases::{LoadPhases, with_connections};
use super::measurement::TrialMeasurement;
use super::neighbours;
use super::one_server::{measure_alone, measure_break};
use super::record::phases::ClientCounts;
use super::record::recorders::RecordedLoad;
use super::setup::{FinishedTrial, TrialError, TrialSetup, TrialStart, blank, name_logs};
use super::watts::power_levels::{FullLoad, LevelRun, LevelsOf};
use crate::event::{Event, Observer};
use crate::machines::power::RunPower;
use crate::plan::variant_point::VariantPoint;
use crate::search_start::SearchStart;
use crate::warm_up_loop::{WarmUpLoops, planned_loop};

/// A server that has been started for a trial.
pub struct ServerTrial<'a> {
    setup: &'a TrialSetup<'a>,
    variant_point: &'a VariantPoint,
    variant: ServerVariant,
    writer: &'a TrialWriter,
    began: Instant,
    sut: Box<dyn SystemUnderTest>,
    trial: Trial,
    facts: Option<VariantFacts>,
    /// The server's count before the load.
    before: Option<OperationCount>,
    /// Whether the program under test makes the load itself.
    makes_own_load: bool,
    /// What earlier trials say of it.
    search_start: Option<SearchStart>,
    /// Length of a loop of its warm-up, if it runs in turns.
    warm_up_loop: Duration,
    /// The index of its machine.
    machine: usize,
    /// The levels of load at which watts were measured.
    levels: Vec<LevelRun>,
    /// The steps to the breaking point, where that is measured.
    steps: Option<Concurrency>,
    /// Whether the variant asks how much its copies disturb each other.
    asks_for_neighbours: bool,
}

/// What is known of server and load when the load has ended.
pub struct LoadEnd {
    alive: Result<(), MachineError>,
    after: Result<Option<OperationCount>, MachineError>,
    /// What the workload's check says; none before it.
    verified: Result<Option<Verification>, MachineError>,
    measured: Result<TrialMeasurement, TrialError>,
    client_counts: ClientCounts,
    is_interrupted: bool,
    /// When the load ended.
    ended: Instant,
}

impl LoadEnd {
    /// Why the load failed, or else this.
    pub fn error_or(self, other: TrialError) -> TrialError {
        self.measured.err().unwrap_or(other)
    }
}

impl<'a> ServerTrial<'a> {
    /// Starts the server. Where it does not start, that is the trial.
    pub fn start(setup: &'a TrialSetup<'a>, start: TrialStart<'a>) -> Result<Self, Box<FinishedTrial>> {
        let began = Instant::now();
        let started_unix_ms =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
        let TrialStart { scheduled, variant_point, writer, search_start, warm_up_loop, machine, order } =
            start;
        let host = setup.machines.get(machine).name.clone();
        let asks_for_neighbours = order.variant.asks_for_neighbours();
        let mut trial = Trial { started_unix_ms, host, ..blank(setup.plan, scheduled, variant_point) };
        if let Ok(workload) = setup.workload.for_variant(&order.variant, order.connections) {
            trial.load_numbers.clone_from(&workload.load.numbers);
        }
        match setup.machines.get(machine).machine.start(setup.workload, &order) {
            Ok(sut) => Ok(Self {
                setup,
                variant_point,
                variant: order.variant,
                writer,
                began,
                sut,
                trial,
                facts: None,
                before: None,
                makes_own_load: false,
                search_start,
                warm_up_loop,
                machine,
                levels: Vec::new(),
                steps: None,
                asks_for_neighbours,
            }),
            Err(error) => {
                for (name, log) in error.logs() {
                    if let Ok(path) = writer.write(name, log.text.as_bytes()) {
                        trial.files.logs.push(path);
                        trial.files.logs_left_out_bytes += log.left_out;
                    }
                }
                let mut reason = secrets::mask_text(&error.to_string());
                name_logs(Some(&mut reason), &trial.files);
                let trial = Trial { reasons: vec![reason], failed_elsewhere: !error.is_of_server(), ..trial };
                Err(Box::new(ended(setup, FinishedTrial { trial, response_time: None, facts: None }, began)))
            }
        }
    }

    /// Loads the data, checks the replies, and reads what must be known before the load. Returns the load, except for its
    /// length.
    pub fn prepare(&mut self, observe: &mut Observer<'_>) -> Result<LoadPhases<'a>, TrialError> {
        observe(Event::Doing { what: "loading data and checking replies".to_owned() });
        self.sut.prepare()?;
        self.facts = Some(self.sut.facts()?);
        // A server that breaks cannot be asked for its count.
        let is_to_break = self.setup.plan.measure == Measure::BreakingPoint;
        self.before = if is_to_break { None } else { self.sut.count()? };
        let spec = self.spec()?;
        self.makes_own_load = matches!(spec.protocol, ProtocolSpec::Runner(_));
        let loads =
            LoadPhases::new(&self.variant_point.name(self.setup.plan), spec, self.setup.context, self.began);
        // What an operation costs is the measure, or explains it; what a server does between its slices decides about turns.
        let measure = &self.setup.plan.measure;
        let is_metered = measure.is_capacity()
            || measure.is_cpu_time()
            || measure.is_of_users()
            || measure.is_closed_loop();
        Ok(if is_metered { loads.metering(self.sut.cpu_meter(), self.parts()) } else { loads })
    }

    /// The parts of the server whose CPU time is counted apart, in the order of their start.
    fn parts(&self) -> Vec<String> {
        let server = self.setup.workload.server(&self.variant.server);
        server
            .map_or_else(|_| Vec::new(), ServerDefinition::accounts)
            .into_iter()
            .map(str::to_owned)
            .collect()
    }

    /// The index of its machine.
    pub fn machine(&self) -> usize {
        self.machine
    }

    /// Its place in the telemetry, under this name.
    pub fn recorded(&self, name: String) -> RecordedServer {
        RecordedServer { name, trial: self.trial.number }
    }

    /// Runs the load of a server that is up alone, with the plan's background load, and reads what must be known at once
    /// when it has ended.
    pub fn load_alone(&mut self, mut loads: LoadPhases<'a>, observe: &mut Observer<'_>) -> LoadEnd {
        let plan = self.setup.plan;
        let background = plan
            .background
            .map(|load| (background::start(loads.spec(), load, self.setup.context), self.began.elapsed()));
        let spec = loads.spec().clone();
        let outside = OutsideLoads::start(&spec, self.setup.context);
        let (name, rate, search_start) =
            (self.variant_point.name(plan), self.rate_per_s(), self.search_start);
        let rng = &mut self.setup.block_rng(self.trial.block);
        let loops = WarmUpLoops::in_block(plan, self.trial.block, planned_loop(plan));
        let mut measured = match plan.measure {
            Measure::BreakingPoint => self.measure_break(&mut loads, observe),
            _ => measure_alone(self.setup, (&name, loops), rate, search_start, rng, &mut loads, observe),
        };
        if let Ok(result) = &measured
            && let Err(error) = self.measure_more(result, &mut loads, observe)
        {
            measured = Err(error);
        }
        match outside.stop() {
            Ok(ended) => {
                ended.outcomes.iter().for_each(|outcome| loads.client_counts.add(outcome));
                if let Ok(result) = &mut measured {
                    result.add_outside(&ended.operations);
                }
            }
            Err(error) => measured = measured.and(Err(error.into())),
        }
        match background.map(|(load, from)| (load.stop(), from)) {
            None => {}
            Some((Ok(outcome), from)) => {
                loads.client_counts.add(&outcome);
                self.trial.background = Some(background::phase_of(&outcome, from));
            }
            Some((Err(error), _)) => measured = measured.and(Err(error.into())),
        }
        self.end_load(loads, measured)
    }

    fn measure_break(
        &mut self,
        loads: &mut LoadPhases<'a>,
        observe: &mut Observer<'_>,
    ) -> Result<TrialMeasurement, TrialError> {
        let setup = self.setup;
        let machine = setup.machines.get(self.machine);
        let server = BreakingServer {
            plan: setup.plan,
            machine: machine.machine,
            sut: self.sut.as_ref(),
            trial: self.trial.number,
            name: &self.variant_point.name(setup.plan),
            server_cpus: machine.server_cpus.len(),
            client_cpus: setup.machines.client_cpus.len(),
            load: loads.spec().clone(),
            hint: self.search_start.map(|start| start.last_value),
            context: setup.context,
        };
        let (result, steps) = measure_break(setup.breaking_point, &server, observe)?;
        self.steps = steps;
        loads.interrupted = setup.context.interrupted.load(Ordering::Relaxed);
        Ok(result)
    }

    /// Measures what belongs to the trial beside its value: watts, and the copies of the server.
    pub fn measure_more(
        &mut self,
        result: &TrialMeasurement,
        loads: &mut LoadPhases<'a>,
        observe: &mut Observer<'_>,
    ) -> Result<(), TrialError> {
        self.measure_power(result, loads, observe)?;
        // A server that broke carries nothing more.
        let is_broken = self.setup.plan.measure == Measure::BreakingPoint;
        if !self.asks_for_neighbours || is_broken || result.measured.is_none() || loads.interrupted {
            return Ok(());
        }
        let name = self.variant_point.name(self.setup.plan);
        observe(Event::Doing { what: format!("each instance of {name} alone, and all together") });
        let (spec, length) = (loads.spec().clone(), self.setup.plan.phases.curve_step);
        self.trial.neighbours =
            neighbours::measure(&spec, self.setup.context, length, &mut loads.client_counts)?;
        loads.interrupted |= self.trial.neighbours.is_none();
        Ok(())
    }

    /// Loads the server at the levels of the plan for its watts, where its machine has a meter.
    fn measure_power(
        &mut self,
        result: &TrialMeasurement,
        loads: &mut LoadPhases<'a>,
        observe: &mut Observer<'_>,
    ) -> Result<(), TrialError> {
        let setup = self.setup;
        let has_meter = self.meters().is_some();
        let full = FullLoad::of(setup.plan, self.rate_per_s(), result);
        let Some(planned) = setup.plan.power.as_ref().filter(|_| has_meter && result.measured.is_some())
        else {
            return Ok(());
        };
        let name = self.variant_point.name(setup.plan);
        let mut levels = LevelsOf {
            plan: setup.plan,
            planned,
            name: &name,
            full,
            has_shares: !self.makes_own_load,
            loads,
            context: setup.context,
            began: self.began,
        };
        self.levels = levels.run(observe)?;
        Ok(())
    }

    /// The rate at this point of a sweep over rates.
    pub fn rate_per_s(&self) -> Option<f64> {
        self.variant_point.rate_per_s()
    }

    /// What earlier trials say of it.
    pub fn search_start(&self) -> Option<SearchStart> {
        self.search_start
    }

    /// The loops of its warm-up.
    pub fn warm_up_loops(&self) -> WarmUpLoops {
        WarmUpLoops::in_block(self.setup.plan, self.trial.block, self.warm_up_loop)
    }

    /// Number of the trial.
    pub fn number(&self) -> u32 {
        self.trial.number
    }

    /// Its kernel settings, for its turns.
    pub fn kernel_turn(&self) -> KernelTurn<'_> {
        KernelTurn { machine: self.setup.machines.get(self.machine).machine, settings: &self.variant.kernel }
    }

    /// Reads the server's CPU time.
    pub fn cpu_meter(&self) -> Box<dyn CpuMeter> {
        self.sut.cpu_meter()
    }

    /// Records how the trial shared its block with others.
    pub fn share_block(&mut self, turns: TrialTurns) {
        self.trial.turns = Some(turns);
    }

    /// Stops the server without a record of the trial, which will be run again.
    pub fn discard(mut self) {
        self.sut.stop();
    }

    /// Reads what must be known at once when the load has ended.
    pub fn end_load(
        &mut self,
        loads: LoadPhases<'_>,
        mut measured: Result<TrialMeasurement, TrialError>,
    ) -> LoadEnd {
        let ended = Instant::now();
        let spec = loads.spec().clone();
        let loads = loads.close();
        (self.trial.phases, self.trial.timeline) = (loads.phases, loads.time_line);
        // The slices of a search are kept by their rate.
        self.trial.timeline.sort_by(|a, b| a.t_s.total_cmp(&b.t_s));
        let alive = self.sut.check_alive();
        let after = if alive.is_ok() && self.before.is_some() { self.sut.count() } else { Ok(None) };
        if alive.is_ok() {
            // No count contains it.
            match (outside_load::after(&spec, self.setup.context), &mut measured) {
                (Ok(operations), Ok(result)) => result.add_outside(&operations),
                (Err(error), Ok(_)) => measured = Err(error.into()),
                (_, Err(_)) => {}
            }
        }
        let (client_counts, is_interrupted) = (loads.client_counts, loads.interrupted);
        LoadEnd { alive, after, verified: Ok(None), measured, client_counts, is_interrupted, ended }
    }

    /// Completes the trial's record and writes its files, and stops the server.
    pub fn finish(
        mut self,
        load: Result<(LoadEnd, RecordedLoad), TrialError>,
    ) -> Result<FinishedTrial, ArchiveError> {
        let (recorded, outcome) = match load {
            Ok((mut end, recorded)) => {
                // All loads of the block have ended: the check takes nothing from a measurement.
                if end.alive.is_ok() && end.measured.is_ok() && !end.is_interrupted {
                    end.verified = self.sut.verify();
                }
                let outcome = self.evaluate(end, &recorded);
                (Some(recorded), outcome)
            }
            Err(error) => (None, Err(error)),
        };
        let finished = self.write(recorded.as_ref(), outcome)?;
        self.sut.stop();
        Ok(ended(self.setup, finished, self.began))
    }

    /// The load of this trial, except for shape and length.
    fn spec(&self) -> Result<LoadSpec, TrialError> {
        let plan = self.setup.plan;
        let mut spec = with_connections(plan, self.sut.load_spec()?, self.variant_point.connections(plan));
        spec.part.seed = u64::from(plan.seed) << 32 | u64::from(self.trial.number) << 8;
        Ok(spec)
    }

    /// The meters of the run, where one measures the machine of this trial.
    fn meters(&self) -> Option<&'a RunPower> {
        let (variant, host) = (self.variant_point.variant, self.trial.host.as_deref());
        self.setup.power.filter(|power| power.has(variant, host))
    }
}

/// The end of a trial. One that failed because the user interrupted it is no failure of the server.
fn ended(setup: &TrialSetup<'_>, mut finished: FinishedTrial, began: Instant) -> FinishedTrial {
    let is_interrupted = setup.context.interrupted.load(Ordering::Relaxed);
    if finished.trial.status == TrialStatus::Failed && is_interrupted {
        finished.trial.status = TrialStatus::Interrupted;
    }
    finished.trial.duration_s = began.elapsed().as_secs_f64();
    finished
}
