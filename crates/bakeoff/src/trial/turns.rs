//! The trials of a block whose servers are up together: all are started in random order and warmed up one after the other;
//! then they are loaded in turns, in slices so short that neighbours meet the same state of the machine (decision 0009).
//!
//! Each trial has its record as if it had run alone. What fails for one server does not end the others.

mod lasting_load;

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use archive::ArchiveError;
use archive::model::{Measure, TrialTurns};
use load::engine::RunError;
use machine::MachineError;

use self::lasting_load::ClosedLoops;
use super::disturbance::{Watch, idle_cores, why_each_time, why_not_beside, why_one_at_a_time};
use super::drains::LOOP_OVER_DRAIN;
use super::interleaved_trial::InterleavedTrial;
use super::load_phases::LoadPhases;
use super::measurement::TrialMeasurement;
use super::record::recorders::Recorders;
use super::record::server_usage::{own_part, watch_one_of};
use super::rounds::Rounds;
use super::server_trial::{LoadEnd, ServerTrial};
use super::setup::{FinishedTrial, TrialError, TrialSetup, TrialStart};
use super::steadiness::WarmUpGoal;
use super::warm_up::{WarmedUp, warm_up};
use crate::cpu_rate;
use crate::event::{Event, Observer};
use crate::plan::preset::telemetry_period;

/// How the trials of a block in turns ended.
pub enum TurnsEnd {
    /// Each has its record, in the order of the starts, or why its files cannot be written.
    Finished(Vec<Result<FinishedTrial, ArchiveError>>),
    /// The servers do not leave each other alone. Nothing is recorded: the trials are to be run one at a time.
    OneAtATime(OneAtATime),
}

/// What is known when servers are to run one at a time.
pub struct OneAtATime {
    /// Why.
    pub why: String,
    /// The rate for all servers that their warm-ups suggest; none where a server was not warmed up.
    pub rate_per_s: Option<f64>,
    /// How long each must be loaded at least, because it pauses.
    pub least_load: Duration,
}

/// Runs the trials of a block with all servers up.
pub fn run_in_turns<'a>(
    setup: &'a TrialSetup<'a>,
    starts: Vec<TrialStart<'a>>,
    observe: &mut Observer<'_>,
) -> TurnsEnd {
    let block = starts.first().map_or(0, |start| start.scheduled.block);
    // A trial whose server does not start has ended.
    let mut turns: Vec<Result<Turn<'a>, Box<FinishedTrial>>> = Vec::new();
    for start in starts {
        let (name, machine) = (start.variant_point.name(setup.plan), start.machine);
        let turn = Turn::begin(setup, start, observe);
        // The first block decides for the run.
        if block == 1
            && let Err(ended) = &turn
            && let Some(other) = turns.iter().flatten().find(|other| other.member.machine() == machine)
            && let Some(why) = why_not_beside(&name, &ended.trial.reasons, &other.name)
        {
            turns.into_iter().flatten().for_each(|turn| turn.member.discard());
            return TurnsEnd::OneAtATime(OneAtATime { why, rate_per_s: None, least_load: Duration::ZERO });
        }
        turns.push(turn);
    }
    let servers = turns.iter().enumerate().filter_map(|(index, turn)| {
        let member = &turn.as_ref().ok()?.member;
        Some((member.machine(), member.recorded(watch_one_of(index))))
    });
    let recorders = Recorders::begin(setup.machines, servers, telemetry_period(setup.plan.length));
    for (machine, error) in &recorders.failed {
        // Without the recording of a client's machine, no trial can be checked.
        let is_client = setup.machines.clients().contains(machine);
        let on_it = |turn: &&mut Turn<'a>| is_client || turn.member.machine() == *machine;
        fail_all(turns.iter_mut().flatten().filter(on_it), error);
    }
    let loaded = load_in_turns(setup, block, turns.iter_mut().flatten().collect(), observe);
    if let TurnsLoad::Restless(one_at_a_time) = loaded {
        turns.into_iter().flatten().for_each(|turn| turn.member.discard());
        return TurnsEnd::OneAtATime(one_at_a_time);
    }
    // The counts of all servers are read at once, before the first of them is stopped.
    turns.iter_mut().flatten().for_each(Turn::end_load);
    let recordings = recorders.stop();
    if let TurnsLoad::MustBeAlone { machine, one_at_a_time } = loaded
        && !recordings.are_of_a_disturbed_machine(setup.machines, machine)
    {
        turns.into_iter().flatten().for_each(|turn| turn.member.discard());
        return TurnsEnd::OneAtATime(one_at_a_time);
    }
    let finished = turns.into_iter().enumerate().map(|(index, turn)| match turn {
        Ok(Turn { member, state, .. }) => {
            let own = |recording: &_| own_part(recording, &watch_one_of(index));
            let load = match state {
                TurnState::Ended(end) => match recordings.of(setup.machines, member.machine(), own) {
                    Ok(recorded) => Ok((*end, recorded)),
                    Err(error) => Err(end.error_or(error.into())),
                },
                TurnState::Failed(error) => Err(error),
                TurnState::Loaded(..) | TurnState::CutOff(..) => {
                    unreachable!("a turn ends before its record")
                }
            };
            member.finish(load)
        }
        Err(ended) => Ok(*ended),
    });
    TurnsEnd::Finished(finished.collect())
}

/// Fails the trials of a machine that cannot be asked any more. Those that have failed before keep their reason.
fn fail_all<'t, 'a: 't>(turns: impl Iterator<Item = &'t mut Turn<'a>>, error: &Arc<MachineError>) {
    turns.for_each(|turn| turn.fail(Arc::clone(error).into()));
}

/// How a load in turns ended.
enum TurnsLoad {
    /// All servers have had their turns.
    Done,
    /// They were not loaded: they do not leave each other alone.
    Restless(OneAtATime),
    /// They were loaded, and a server on this machine pauses, or is another one under a lasting load. Where other programs disturb the
    /// machine, that is their doing.
    MustBeAlone { machine: usize, one_at_a_time: OneAtATime },
}

/// Warms up all servers, and loads them in turns.
fn load_in_turns(
    setup: &TrialSetup<'_>,
    block: u32,
    mut turns: Vec<&mut Turn<'_>>,
    observe: &mut Observer<'_>,
) -> TurnsLoad {
    let warmed: Vec<WarmedUp> = turns.iter_mut().filter_map(|turn| turn.warm_up(setup, observe)).collect();
    turns.retain(|turn| matches!(turn.state, TurnState::Loaded(..)));
    if turns.is_empty() || turns.iter().any(|turn| turn.is_interrupted()) {
        return TurnsLoad::Done;
    }
    // The first block decides for the run, so that its blocks are alike. In a sweep it may have several groups like this one.
    // Where a later group decides otherwise, the run begins again.
    if block == 1 {
        let why = why_each_time(|| disturbance(setup, &mut turns));
        turns.retain(|turn| matches!(turn.state, TurnState::Loaded(..)));
        if turns.is_empty() {
            return TurnsLoad::Done;
        }
        if let Some(why) = why {
            let closed_loops = turns.iter().filter_map(|turn| turn.closed_loop_per_s());
            let rate_per_s = cpu_rate::for_closed_loops(closed_loops);
            return TurnsLoad::Restless(OneAtATime { why, rate_per_s, least_load: Duration::ZERO });
        }
    }
    let mut rng = setup.block_rng(block);
    let mut rounds = Rounds::new(setup.plan, setup.objective(), &warmed, &mut rng);
    let slice_s = rounds.slice.measured.as_secs_f64();
    drop(warmed);
    let mut takers: Vec<InterleavedTrial<'_, '_>> =
        turns.iter_mut().filter_map(|turn| turn.taker()).collect();
    let count = rounds.run(&mut takers, observe);
    let failures: Vec<Option<TrialError>> = takers.into_iter().map(|taker| taker.failed).collect();
    let is_interrupted = turns.iter().any(|turn| turn.is_interrupted());
    let alone = if block == 1 && turns.len() > 1 && !is_interrupted {
        must_be_alone(&turns, &setup.plan.measure)
    } else {
        None
    };
    let trials: Vec<u32> = turns.iter().map(|turn| turn.member.number()).collect();
    for (turn, failed) in turns.into_iter().zip(failures) {
        let (trials, idle_cores) = (trials.clone(), turn.idle_cores);
        turn.member.share_block(TrialTurns::InTurns { trials, slice_s, rounds: count, idle_cores });
        match failed {
            Some(error) => turn.fail(error),
            None => turn.measure_more(observe),
        }
    }
    alone
        .map_or(TurnsLoad::Done, |(machine, one_at_a_time)| TurnsLoad::MustBeAlone { machine, one_at_a_time })
}

/// The machine of a server that must run alone, by what it did in its slices; none if there is none.
fn must_be_alone(turns: &[&mut Turn<'_>], measure: &Measure) -> Option<(usize, OneAtATime)> {
    let between = turns.iter().filter_map(|turn| turn.between_share());
    let least = between.min_by(f64::total_cmp).unwrap_or(0.0);
    let alone = turns.iter().find_map(|turn| Some((turn.member.machine(), turn.why_alone(measure, least)?)));
    alone.or_else(|| Some((turns.first()?.member.machine(), unlike_a_lasting_load(turns, measure)?)))
}

/// Why slices do not show what these servers carry under a lasting load; none where they do, or where no loop is closed.
fn unlike_a_lasting_load(turns: &[&mut Turn<'_>], measure: &Measure) -> Option<OneAtATime> {
    if *measure != Measure::MaxThroughput {
        return None;
    }
    let servers: Vec<ClosedLoops<'_>> = turns.iter().filter_map(|turn| turn.closed_loops()).collect();
    let why = lasting_load::why_alone(&servers)?;
    let rate_per_s = cpu_rate::for_closed_loops(servers.iter().map(|server| server.lasting_per_s));
    Some(OneAtATime { why, rate_per_s, least_load: Duration::ZERO })
}

/// One watch of servers. Those on different machines cannot disturb each other.
fn disturbance(setup: &TrialSetup<'_>, turns: &mut [&mut Turn<'_>]) -> Watch {
    let meters: Vec<_> = turns.iter().map(|turn| turn.member.cpu_meter()).collect();
    for (turn, cores) in turns.iter_mut().zip(idle_cores(&meters)) {
        match cores {
            Ok(cores) => turn.idle_cores = Some(cores),
            Err(error) => {
                turn.idle_cores = None;
                turn.fail(error.into());
            }
        }
    }
    let mut found = Watch { why: None, busiest: None };
    for (index, machine) in setup.machines.iter() {
        let mut on_it: Vec<&mut Turn<'_>> = Vec::new();
        let is_on_it = |turn: &Turn<'_>| turn.member.machine() == index && turn.idle_cores.is_some();
        for turn in turns.iter_mut().filter(|turn| is_on_it(turn)) {
            on_it.push(turn);
        }
        if on_it.len() < 2 {
            continue;
        }
        match machine.machine.available_memory_share() {
            Ok(available) => {
                let servers: Vec<(&str, f64)> =
                    on_it.iter().filter_map(|turn| Some((turn.name.as_str(), turn.idle_cores?))).collect();
                found.why = found.why.or_else(|| why_one_at_a_time(available, servers.iter().copied()));
                let own = servers.iter().map(|(name, cores)| ((*name).to_owned(), *cores));
                found.busiest = found.busiest.into_iter().chain(own).max_by(|a, b| a.1.total_cmp(&b.1));
            }
            Err(error) => fail_all(on_it.into_iter(), &Arc::new(error)),
        }
    }
    found
}

/// One trial of the block.
struct Turn<'a> {
    name: String,
    member: ServerTrial<'a>,
    /// CPU time that it uses while no server is loaded, in cores; none where it was not watched.
    idle_cores: Option<f64>,
    state: TurnState<'a>,
}

enum TurnState<'a> {
    /// It is loaded.
    Loaded(Box<(LoadPhases<'a>, TrialMeasurement)>),
    /// Its load has failed: it takes no further turns. What was recorded until then is kept.
    CutOff(Box<(LoadPhases<'a>, TrialError)>),
    /// Its load has ended.
    Ended(Box<LoadEnd>),
    /// It was never loaded.
    Failed(TrialError),
}

impl<'a> Turn<'a> {
    fn begin(
        setup: &'a TrialSetup<'a>,
        start: TrialStart<'a>,
        observe: &mut Observer<'_>,
    ) -> Result<Self, Box<FinishedTrial>> {
        let name = start.variant_point.name(setup.plan);
        observe(Event::Doing { what: format!("starting {name}") });
        let mut member = ServerTrial::start(setup, start)?;
        let state = match member.prepare(observe) {
            Ok(loads) => TurnState::Loaded(Box::new((loads, TrialMeasurement::without_warm_up()))),
            Err(error) => TurnState::Failed(error),
        };
        Ok(Self { name, member, idle_cores: None, state })
    }

    fn warm_up(&mut self, setup: &TrialSetup<'_>, observe: &mut Observer<'_>) -> Option<WarmedUp> {
        let TurnState::Loaded(load) = &mut self.state else { return None };
        let (loads, result) = load.as_mut();
        let settings = self.member.kernel_turn().begin();
        let (measured, loops) = ((self.name.as_str(), setup.objective()), self.member.warm_up_loops());
        let warm = settings
            .and_then(|()| Ok(warm_up(setup.plan, measured, WarmUpGoal::NoDrift, loops, loads, observe)?));
        match warm {
            Ok(warm) => {
                *result = TrialMeasurement::after(&warm);
                Some(warm)
            }
            Err(error) => {
                self.fail(error);
                None
            }
        }
    }

    /// Ends its turns, if they have not ended before.
    fn fail(&mut self, error: TrialError) {
        self.state = match self.take_state() {
            TurnState::Loaded(load) => TurnState::CutOff(Box::new((load.0, error))),
            other => other,
        };
    }

    /// Its state, with a stand-in in its place.
    fn take_state(&mut self) -> TurnState<'a> {
        mem::replace(&mut self.state, TurnState::Failed(RunError::Interrupted.into()))
    }

    fn closed_loop_per_s(&self) -> Option<f64> {
        match &self.state {
            TurnState::Loaded(load) => Some(load.1.closed_loop_per_s),
            TurnState::CutOff(_) | TurnState::Ended(_) | TurnState::Failed(_) => None,
        }
    }

    /// What the server carried in its slices and without breaks; none where the server has no slices.
    fn closed_loops(&self) -> Option<ClosedLoops<'_>> {
        let TurnState::Loaded(load) = &self.state else { return None };
        let result = &load.1;
        let in_slices_per_s = result.measured.as_ref()?.value;
        Some(ClosedLoops { name: &self.name, in_slices_per_s, lasting_per_s: result.closed_loop_per_s })
    }

    /// The server's CPU time between its slices, as a share of its CPU time in its slices.
    fn between_share(&self) -> Option<f64> {
        match &self.state {
            TurnState::Loaded(load) => load.0.cpu.between_share(),
            TurnState::CutOff(_) | TurnState::Ended(_) | TurnState::Failed(_) => None,
        }
    }

    /// Why it must run alone, by what it did in its slices; none if it may share a machine. Pauses are in no CPU time. `least` is the
    /// least CPU time of a server of the block between its slices.
    fn why_alone(&self, measure: &Measure, least: f64) -> Option<OneAtATime> {
        let TurnState::Loaded(load) = &self.state else { return None };
        let (loads, result) = load.as_ref();
        let pauses = if measure.is_cpu_time() { None } else { result.drains.why_alone(&self.name) };
        let why = pauses.or_else(|| loads.cpu.why_alone(&self.name, least))?;
        let rate_per_s = cpu_rate::for_closed_loops([result.closed_loop_per_s]);
        Some(OneAtATime { why, rate_per_s, least_load: result.drains.longest() * LOOP_OVER_DRAIN })
    }

    fn is_interrupted(&self) -> bool {
        matches!(&self.state, TurnState::Loaded(load) if load.0.interrupted)
    }

    fn taker(&mut self) -> Option<InterleavedTrial<'_, 'a>> {
        let (rate, search_start) = (self.member.rate_per_s(), self.member.search_start());
        match &mut self.state {
            TurnState::Loaded(load) => {
                let (loads, result) = load.as_mut();
                let settings = Some(self.member.kernel_turn());
                Some(InterleavedTrial { loads, settings, result, rate, search_start, failed: None })
            }
            TurnState::CutOff(_) | TurnState::Ended(_) | TurnState::Failed(_) => None,
        }
    }

    /// Measures what belongs to the trial beside its value, while the other servers are idle.
    fn measure_more(&mut self, observe: &mut Observer<'_>) {
        if let TurnState::Loaded(load) = &mut self.state {
            let (loads, result) = load.as_mut();
            let settings = self.member.kernel_turn().begin();
            if let Err(error) = settings.and_then(|()| self.member.measure_more(result, loads, observe)) {
                self.fail(error);
            }
        }
    }

    fn end_load(&mut self) {
        self.state = match self.take_state() {
            TurnState::Loaded(load) => {
                let (loads, result) = *load;
                TurnState::Ended(Box::new(self.member.end_load(loads, Ok(result))))
            }
            TurnState::CutOff(load) => {
                let (loads, error) = *load;
                TurnState::Ended(Box::new(self.member.end_load(loads, Err(error))))
            }
            other => other,
        };
    }
}
