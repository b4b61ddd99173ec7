//! A lab without servers: its trials end as the test prescribes.

use std::collections::BTreeMap;
use std::time::Duration;

use archive::ArchiveError;
use archive::model::{
    CpuTimePerOperation, Facts, Gate, GateOutcome, Measure, MeasuredValue, Plan, Trial, TrialStatus,
    TrialTurns,
};

use crate::cpu_rate;
use crate::event::{Event, Observer};
use crate::gates::OTHERS;
use crate::plan::measure_names::wording;
use crate::run::error::RunPlanError;
use crate::run::first_block::tests::{client_gate, closed_loop};
use crate::run::lab::{Lab, TrialSlot};
use crate::trial::{FinishedTrial, blank};
use crate::verdict::company::tests::gate_of_share;

/// Trials with these numbers end with these statuses; all others are valid. Apache is twice as fast as nginx.
pub struct ScriptedLab {
    pub outcomes: BTreeMap<u32, TrialStatus>,
    /// The blocks in which the server of a variant fails.
    pub failing: BTreeMap<usize, Vec<u32>>,
    /// Whether failures are those of a machine.
    pub fails_elsewhere: bool,
    /// The trial whose value is 2.
    pub slow: Option<u32>,
    /// From this trial on, no file can be written.
    pub full_at: Option<u32>,
    /// The variants for which the client is the limit of every measure but CPU time.
    pub limited: Vec<usize>,
    /// The blocks in which other programs keep the client from its CPUs, which refuses every measure but CPU time.
    pub starved: Vec<u32>,
    /// The variant and point whose server works while it is not loaded: in the first block, the lab finds that out.
    pub restless: Option<usize>,
    /// What other programs use of the CPUs, 0 to 1: more than the limit.
    pub others: Option<f64>,
    /// Why its servers run one at a time; none while they do not.
    pub one_at_a_time: Option<String>,
    /// Throughput of the closed loop of each variant, operations a second.
    pub closed_loops: [f64; 3],
}

impl Lab for ScriptedLab {
    fn facts(&mut self, _plan: &Plan) -> Result<Facts, RunPlanError> {
        Ok(Facts::default())
    }

    fn run_trials(
        &mut self,
        plan: &Plan,
        trials: &[TrialSlot<'_>],
        _observe: &mut Observer<'_>,
    ) -> Vec<Result<FinishedTrial, ArchiveError>> {
        let is_restless = |slot: &TrialSlot<'_>| Some(slot.scheduled.variant_point) == self.restless;
        if trials.iter().any(|slot| slot.scheduled.block == 1 && is_restless(slot)) {
            self.one_at_a_time = Some(RESTLESS.to_owned());
        }
        let together: Vec<u32> = trials.iter().map(|slot| slot.scheduled.number).collect();
        let is_full = |slot: &&TrialSlot<'_>| self.full_at.is_some_and(|full| slot.scheduled.number >= full);
        let full = |slot: &TrialSlot<'_>| ArchiveError::DiskFull { path: slot.writer.dir() };
        let run = |slot| {
            if is_full(&slot) { Err(full(slot)) } else { Ok(self.run_trial(plan, slot, &together)) }
        };
        trials.iter().map(run).collect()
    }

    fn run_one_at_a_time(&mut self, why: &str) {
        self.one_at_a_time = Some(why.to_owned());
    }

    fn wait_for_cpus(&mut self, _longest: Duration, observe: &mut Observer<'_>) {
        observe(Event::Doing { what: WAITING.to_owned() });
    }
}

impl ScriptedLab {
    /// A lab whose trials with these numbers end so.
    pub fn new(outcomes: impl IntoIterator<Item = (u32, TrialStatus)>) -> Self {
        let outcomes = outcomes.into_iter().collect();
        Self {
            outcomes,
            failing: BTreeMap::new(),
            fails_elsewhere: false,
            slow: None,
            full_at: None,
            limited: Vec::new(),
            starved: Vec::new(),
            restless: None,
            others: None,
            one_at_a_time: None,
            closed_loops: [60_000.0; 3],
        }
    }

    pub fn of_client(client_is_limit: bool) -> Self {
        Self { limited: if client_is_limit { vec![0, 1] } else { Vec::new() }, ..Self::new([]) }
    }

    fn run_trial(&self, plan: &Plan, slot: &TrialSlot<'_>, together: &[u32]) -> FinishedTrial {
        let TrialSlot { scheduled, variant_point, .. } = *slot;
        let status = self.outcomes.get(&scheduled.number).copied().unwrap_or(TrialStatus::Valid);
        let fails =
            self.failing.get(&variant_point.variant).is_some_and(|own| own.contains(&scheduled.block));
        let status = if fails { TrialStatus::Failed } else { status };
        let is_of_cpu = matches!(plan.measure, Measure::CpuTime { .. });
        let is_limited = self.limited.contains(&variant_point.variant) && !is_of_cpu;
        let is_starved = self.starved.contains(&scheduled.block) && !is_of_cpu;
        let is_refused_for_client = is_limited || is_starved;
        let status = if is_refused_for_client { TrialStatus::Invalid } else { status };
        let gate = if is_refused_for_client { client_gate() } else { steal() };
        let others = if is_starved { Some(STARVING) } else { self.others };
        let company = others.map(|share| gate_of_share(OTHERS, GateOutcome::Noted, share));
        let closed_loop_per_s = self.closed_loops[variant_point.variant];
        let cpu_rate = match plan.measure {
            Measure::CpuTime { rate_per_s } => {
                rate_per_s.or_else(|| cpu_rate::for_closed_loops([closed_loop_per_s]))
            }
            _ => None,
        };
        let wording = wording(&plan.measure);
        if status == TrialStatus::Failed {
            let reasons = vec!["connection refused".to_owned()];
            let failed_elsewhere = self.fails_elsewhere;
            let trial = Trial { reasons, failed_elsewhere, ..blank(plan, scheduled, variant_point) };
            return FinishedTrial { trial, response_time: None, facts: None };
        }
        let trial = Trial {
            status,
            gates: (status == TrialStatus::Invalid).then_some(gate).into_iter().chain(company).collect(),
            phases: vec![closed_loop(closed_loop_per_s, if is_limited { 0.95 } else { 0.5 })],
            measured: Some(MeasuredValue {
                metric: wording.what,
                value: if self.slow == Some(scheduled.number) {
                    2.0
                } else {
                    [100.0, 200.0, 300.0][variant_point.variant] + f64::from(scheduled.number)
                },
                unit: wording.unit.to_owned(),
                higher_is_better: wording.higher_is_better,
            }),
            cpu_time: cpu_rate.map(cpu_time),
            turns: plan.turns.map(|_| self.turns(together)),
            ..blank(plan, scheduled, variant_point)
        };
        FinishedTrial { trial, response_time: None, facts: None }
    }

    fn turns(&self, together: &[u32]) -> TrialTurns {
        match &self.one_at_a_time {
            Some(why) => TrialTurns::OneAtATime { why: why.clone() },
            None => {
                TrialTurns::InTurns { trials: together.to_vec(), slice_s: 0.05, rounds: 20, idle_cores: None }
            }
        }
    }
}

/// The CPU time of a trial, whatever its server is.
pub fn cpu_time(rate_per_s: f64) -> CpuTimePerOperation {
    CpuTimePerOperation {
        rate_per_s,
        cpu_s: 1.0,
        operations: 10_000,
        user_us: 40.0,
        system_us: 60.0,
        between_s: 0.0,
        slices_us: Vec::new(),
        stolen_s: 0.0,
        others_cores: None,
        parts: Vec::new(),
    }
}

/// Why its servers run one at a time, where one of them is restless.
pub const RESTLESS: &str = "nginx used 5.0 % of a core while it was not loaded (at most 1.0 %)";

/// What programs that keep the client from its CPUs use of them.
const STARVING: f64 = 0.45;

/// What it says while it waits for the CPUs.
pub const WAITING: &str = "waiting for the CPUs";

fn steal() -> Gate {
    Gate {
        id: "steal".to_owned(),
        outcome: GateOutcome::Failed,
        measured: "9 %".to_owned(),
        share: Some(0.09),
        threshold: "at most 2 %".to_owned(),
        message: "the hypervisor took CPU time".to_owned(),
    }
}
