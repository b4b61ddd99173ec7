//! The lab of a run: its trials on the machines with the servers, loaded from this process. Which machines these are, and what
//! is done before and after all trials, is left to [`run_plan`](crate::run::of_plan::run_plan).

use std::borrow::Cow;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use archive::ArchiveError;
use archive::model::{Facts, FlatFacts, Measure, Plan, TrialStatus, TrialTurns};
use host::knobs::ShallowIdle;
use load::engine::RunContext;
use load::inputs::slo::Slo;
use machine::{Room, ServerOrder};
use workload::{ServerVariant, Workload};

use crate::event::{Event, Observer};
use crate::gates;
use crate::machines::of_run::{Place, RunMachine, RunMachines};
use crate::machines::power::RunPower;
use crate::plan::quiet_host;
use crate::plan::variant_point::VariantPoint;
use crate::run::error::RunPlanError;
use crate::run::lab::{Lab, TrialSlot};
use crate::trial::BreakingPoint;
use crate::trial::{self, FinishedTrial, OneAtATime, TrialSetup, TrialStart, TurnsEnd};
use crate::verdict::caveats::{MADE_BY, MADE_BY_SERVER};

/// The fact of what made this machine quieter.
const QUIET_HOST: &str = "quiet_host";

/// Runs trials on the machines of a run.
pub struct MachineLab<'a> {
    /// The plan's workload.
    pub workload: Workload,
    /// The plan's objective.
    pub objective: Option<Slo>,
    /// Where the servers run, and the client.
    pub machines: RunMachines<'a>,
    /// The variant of each variant point, as the workload has it.
    pub variants: Vec<ServerVariant>,
    /// The context of the engine.
    pub context: &'a RunContext,
    /// The meters of the run, if it has any.
    pub power: Option<RunPower>,
    /// What finds breaking points, in commands that measure them.
    pub breaking_point: Option<&'a dyn BreakingPoint>,
    /// Keeps CPUs out of deep idle states, if the plan asks for that and the kernel allows it.
    pub shallow_idle: Option<ShallowIdle>,
    /// Why servers of this run cannot be up together, and at which rate they are measured then; none while they can, or
    /// where the plan has no turns.
    pub one_at_a_time: Option<OneAtATime>,
}

impl MachineLab<'_> {
    fn setup<'s>(&'s self, plan: &'s Plan) -> TrialSetup<'s> {
        TrialSetup {
            plan,
            objective: self.objective.as_ref(),
            machines: &self.machines,
            workload: &self.workload,
            context: self.context,
            power: self.power.as_ref(),
            breaking_point: self.breaking_point,
        }
    }

    fn trial_start<'s>(&self, plan: &Plan, slot: &TrialSlot<'s>) -> TrialStart<'s> {
        let TrialSlot { scheduled, variant_point, writer, search_start, warm_up_loop } = *slot;
        let place = self.machines.place_of(variant_point.variant, scheduled.block);
        let order = self.order(plan, place, scheduled.variant_point, variant_point, scheduled.number);
        let machine = place.machine;
        TrialStart { scheduled, variant_point, writer, search_start, warm_up_loop, machine, order }
    }

    /// What the server of a variant point, with this index, is started with there. Its machine knows it by `number`.
    pub fn order(
        &self,
        plan: &Plan,
        place: Place,
        index: usize,
        variant_point: &VariantPoint,
        number: u32,
    ) -> ServerOrder {
        ServerOrder {
            trial: number,
            name: plan.variants[variant_point.variant].name.clone(),
            variant: self.variants[index].clone(),
            cpus: self.machines.get(place.machine).server_cpus.clone(),
            address: place.address,
            connections: connections(plan, variant_point),
            seed: u64::from(plan.seed),
            on_op: plan.on_op.clone(),
        }
    }

    /// Says where failed trials had little room, and removes the data of all.
    fn after_trials(
        &self,
        trials: &[TrialSlot<'_>],
        mut finished: Vec<Result<FinishedTrial, ArchiveError>>,
    ) -> Vec<Result<FinishedTrial, ArchiveError>> {
        for (slot, finished) in trials.iter().zip(&mut finished) {
            let Ok(finished) = finished else { continue };
            // The messages of servers and their tools rarely say so, or not at their end.
            if finished.trial.status == TrialStatus::Failed
                && let Some(Room { directory, left_bytes }) = self.machine_of(slot).machine.room()
                && left_bytes < LITTLE_ROOM
            {
                let left = left_bytes >> 20;
                let why = format!(
                    "the disk of {directory} has {left} MB left: free some space, or set TMPDIR to another directory"
                );
                finished.trial.reasons.insert(0, why);
                finished.trial.failed_elsewhere = true;
            }
        }
        self.remove_data(trials);
        finished
    }

    /// The run directory has everything that is kept; the data of all trials would fill the disk.
    fn remove_data(&self, trials: &[TrialSlot<'_>]) {
        for slot in trials {
            self.machine_of(slot).machine.remove_data(slot.scheduled.number);
        }
    }

    fn machine_of(&self, slot: &TrialSlot<'_>) -> &RunMachine<'_> {
        let place = self.machines.place_of(slot.variant_point.variant, slot.scheduled.block);
        self.machines.get(place.machine)
    }
}

impl Lab for MachineLab<'_> {
    fn facts(&mut self, plan: &Plan) -> Result<Facts, RunPlanError> {
        let made_by = if self.workload.load.is_runner() { MADE_BY_SERVER } else { "client" };
        let mut client = FlatFacts::from([
            ("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            (MADE_BY.to_owned(), made_by.to_owned()),
            ("threads".to_owned(), plan.load.threads.to_string()),
            ("cpus".to_owned(), plan.cpus.client.clone()),
        ]);
        if !plan.clients.is_empty() {
            client.insert("clients".to_owned(), plan.clients.join(", "));
        }
        let taken = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let mut host = self.machines.here().machine.facts()?.flat();
        host.extend(
            quiet_host::fact(plan, self.shallow_idle.is_some()).map(|done| (QUIET_HOST.to_owned(), done)),
        );
        let facts = Facts {
            taken_unix_ms: taken.map_or(0, |d| d.as_millis() as u64),
            host,
            hosts: self.machines.facts_of_others()?,
            network: self.machines.paths.facts(),
            shared_network: self.machines.paths.shared_facts(),
            client,
            workload: self.workload.digests(),
            ..Facts::default()
        };
        self.machines.find_shared_kernels(&facts);
        Ok(facts)
    }

    fn run_trials(
        &mut self,
        plan: &Plan,
        trials: &[TrialSlot<'_>],
        observe: &mut Observer<'_>,
    ) -> Vec<Result<FinishedTrial, ArchiveError>> {
        // A trial that has no other beside it, such as the last one to be replaced, is measured in slices like all others.
        if plan.turns.is_some() && self.one_at_a_time.is_none() {
            let setup = self.setup(plan);
            let starts = trials.iter().map(|slot| self.trial_start(plan, slot));
            match trial::run_in_turns(&setup, starts.collect(), observe) {
                TurnsEnd::Finished(finished) => return self.after_trials(trials, finished),
                TurnsEnd::OneAtATime(one_at_a_time) => {
                    observe(Event::OneAtATime { why: one_at_a_time.why.clone() });
                    self.remove_data(trials);
                    self.one_at_a_time = Some(one_at_a_time);
                }
            }
        }
        let mut plan = Cow::Borrowed(plan);
        if let Some(OneAtATime { rate_per_s, .. }) = &self.one_at_a_time
            && plan.measure == (Measure::CpuTime { rate_per_s: None })
        {
            // All servers were warmed up then: none of these trials knows as much.
            plan.to_mut().measure = Measure::CpuTime { rate_per_s: *rate_per_s };
        }
        if let Some(OneAtATime { least_load, .. }) = &self.one_at_a_time
            && !least_load.is_zero()
        {
            load_for(plan.to_mut(), (*least_load).min(LONGEST_LOAD));
        }
        let mut finished = Vec::new();
        for slot in trials {
            let mut one = trial::run_alone(&self.setup(&plan), self.trial_start(&plan, slot), observe);
            if let (Ok(one), Some(OneAtATime { why, .. })) = (&mut one, &self.one_at_a_time) {
                one.trial.turns = Some(TrialTurns::OneAtATime { why: why.clone() });
            }
            let has_failed = one.is_err();
            finished.extend(self.after_trials(std::slice::from_ref(slot), vec![one]));
            if has_failed {
                break;
            }
        }
        finished
    }

    fn run_one_at_a_time(&mut self, why: &str) {
        // The trials that were kept have the rate.
        let least_load = Duration::ZERO;
        self.one_at_a_time = Some(OneAtATime { why: why.to_owned(), rate_per_s: None, least_load });
    }

    fn wait_for_cpus(&mut self, longest: Duration, observe: &mut Observer<'_>) {
        let until = Instant::now() + longest;
        while Instant::now() + STEAL_SAMPLE < until && !self.context.interrupted.load(Ordering::Relaxed) {
            match self.machines.most_stolen(STEAL_SAMPLE) {
                Some(share) if share > gates::MAX_STEAL => {
                    let what =
                        format!("waiting: the hypervisor takes {:.0} % of the CPU time", share * 100.0);
                    observe(Event::Doing { what });
                    thread::sleep(PAUSE.min(until.saturating_duration_since(Instant::now())));
                }
                // No steal, or none is reported: the gate of the trial decides.
                _ => return,
            }
        }
    }
}

/// All connections to the server, with those of the background load.
fn connections(plan: &Plan, variant_point: &VariantPoint) -> u32 {
    if let (Measure::BreakingPoint, Some(steps)) = (&plan.measure, &plan.concurrency) {
        return steps.to;
    }
    let background = plan.background.map_or(0, |background| background.connections);
    variant_point.connections(plan).saturating_add(background)
}

/// Makes each load of a plan at least this long.
fn load_for(plan: &mut Plan, least: Duration) {
    let phases = &mut plan.phases;
    for length in [&mut phases.closed_loop, &mut phases.measure] {
        *length = least.max(*length);
    }
    plan.warm_up.max = plan.warm_up.max.max(3 * least);
    if let Some(turns) = &mut plan.turns {
        turns.load = least.max(turns.load);
    }
}

/// No server is loaded alone for longer because it pauses.
const LONGEST_LOAD: Duration = Duration::from_secs(30);
/// Less room than this may be too little for the files of a server at its start.
const LITTLE_ROOM: u64 = 64 << 20;
/// How long steal is measured each time, while a trial waits for the CPUs.
const STEAL_SAMPLE: Duration = Duration::from_secs(1);
/// Pause between two such measurements.
const PAUSE: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests;
