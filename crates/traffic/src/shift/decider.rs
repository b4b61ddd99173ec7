//! A canary or a ramp, as a run sees it.

use std::fmt::Write;

use crate::guard::{Reason, Stop, percent};
use crate::observation::{Action, Window};
use crate::plan::{PlanError, PlannedNames, ShiftPlan};
use crate::ramp::{self, Ramp, RampEnd, RampPhase, RampRules, StepTimes};
use crate::rollout::{
    Answer, Canary, CanaryRules, Metric, Outlook, Phase, Proof, ProofRecord, StepLacks, StepOutlook, TooLong,
};
use crate::weights::{Participants, Weights};

/// What is asked of the candidate, with the numbers of the plan.
#[derive(Debug, Clone)]
pub enum Question {
    /// Is it worse than a fresh control?
    Canary(Participants, CanaryRules),
    /// How many old servers' share does it carry?
    Ramp(Participants, RampRules),
}

/// How a run ended, for its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The candidate is no worse within the margin.
    NoWorse,
    /// A ramp carried a multiple.
    Carried,
    /// The candidate was taken off the traffic, or carried no multiple.
    RolledBack,
    /// The run ended, and that says nothing of the candidate.
    Stopped,
    /// Too little was shown.
    NotShown,
}

impl Ending {
    /// Its word in the record.
    pub fn word(self) -> &'static str {
        match self {
            Self::NoWorse => "no_worse",
            Self::Carried => "carried",
            Self::RolledBack => "rolled_back",
            Self::Stopped => "stopped",
            Self::NotShown => "not_shown",
        }
    }
}

/// What is at stake at a rate of requests, before anything is changed.
#[derive(Debug, Clone)]
pub struct Stake {
    /// Each step: the candidate's share of all traffic, and the least time of it.
    pub steps: Vec<StepOutlook>,
    /// A step that cannot end within its longest time, in words: what it needs, and what to change.
    pub warning: Option<String>,
    /// Steps that the plan leaves out, in words.
    pub left_out: Option<String>,
}

impl Question {
    /// The question of a plan.
    pub fn of(plan: &ShiftPlan, is_ramp: bool) -> Result<Self, PlanError> {
        if is_ramp {
            return Ok(Self::Ramp(plan.ramp_participants(), plan.ramp_rules()?));
        }
        Ok(Self::Canary(plan.canary_participants()?, plan.canary_rules()?))
    }

    /// Its word in the record.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Canary(..) => "canary",
            Self::Ramp(..) => "ramp",
        }
    }

    /// The servers of the run.
    pub fn participants(&self) -> &Participants {
        match self {
            Self::Canary(participants, _) | Self::Ramp(participants, _) => participants,
        }
    }

    /// The new server and what it is compared with.
    pub fn names(&self) -> PlannedNames {
        let Participants { candidate, control, .. } = self.participants().clone();
        PlannedNames { candidate, control }
    }

    /// What is late, in ms.
    pub fn objective_ms(&self) -> u32 {
        match self {
            Self::Canary(_, rules) => rules.hard.objective_ms,
            Self::Ramp(_, rules) => rules.hard.objective_ms,
        }
    }

    /// What is at stake at so many requests a second of all servers.
    pub fn stake(&self, rate: f64) -> Stake {
        let old = self.participants().old.len();
        match self {
            Self::Canary(_, rules) => {
                let Outlook { steps, too_long } = Outlook::of(rules, old, rate);
                Stake {
                    steps,
                    warning: too_long.map(|too_long| warning(&too_long, rules.longest_s)),
                    left_out: rules.why_no_more(old),
                }
            }
            Self::Ramp(_, rules) => {
                let shares = rules.multiples.iter().map(|multiple| ramp::share_at(*multiple, old));
                let seconds = rules.dwell_s as f64;
                let steps =
                    shares.map(|share| StepOutlook { share, seconds, requests: share * rate * seconds });
                Stake { steps: steps.collect(), warning: None, left_out: ramp::left_out(&rules.multiples) }
            }
        }
    }
}

/// A step without hope: what it needs, and what to change.
fn warning(too_long: &TooLong, longest_s: u64) -> String {
    let TooLong { step, needed, rate, seconds, weight } = *too_long;
    let number = step + 1;
    let needed = archive::model::thousands(needed as f64);
    let mut text =
        format!("step {number} needs {needed} requests of the candidate, also if none is late or fails");
    if seconds.is_finite() {
        let minutes = (seconds / 60.0).ceil();
        let _ = write!(
            text,
            ": at {rate:.2} requests/s that takes {minutes:.0} min, and `longest` is {:.0} min. Set `longest` to more than {minutes:.0}m",
            longest_s as f64 / 60.0
        );
    } else {
        text.push_str(", and there is no traffic");
    }
    if let Some(weight) = weight {
        let _ = write!(text, ", or the weight of step {number} (`steps`) to {weight} or more");
    }
    text
}

/// How much each metric says against the candidate.
#[derive(Debug, Clone)]
pub struct EvidenceLogs {
    /// ln E.
    logs: Vec<(Metric, f64)>,
    /// The run ends where one of them reaches it: ln(1/α) of a metric.
    pub limit: f64,
}

impl EvidenceLogs {
    /// ln E of a metric. None if it is not compared.
    pub fn of(&self, metric: Metric) -> Option<f64> {
        self.logs.iter().find(|(other, _)| *other == metric).map(|(_, log)| *log)
    }
}

/// What a run has found, for its record.
#[derive(Debug, Clone)]
pub struct Found {
    /// The answer in a sentence.
    pub sentence: String,
    /// How it ended.
    pub ending: Ending,
    /// The multiple that a ramp carried.
    pub carried: Option<f64>,
    /// The multiple up to which a ramp's candidate was as fast as the old servers.
    pub as_fast_up_to: Option<f64>,
    /// The candidate's requests.
    pub requests: u64,
    /// What the last step has shown and lacked, in a canary without an answer.
    pub proofs: Vec<ProofRecord>,
}

/// A canary or a ramp that has begun.
#[derive(Debug, Clone)]
pub enum Decider {
    /// A candidate against a control.
    Canary(Box<Canary>),
    /// A candidate alone.
    Ramp(Box<Ramp>),
}

impl Decider {
    /// Begins at a backend that was checked.
    pub fn start(question: &Question, first: &Window) -> (Self, Vec<Action>) {
        match question.clone() {
            Question::Canary(participants, rules) => {
                let (canary, actions) = Canary::start(participants, rules, first);
                (Self::Canary(Box::new(canary)), actions)
            }
            Question::Ramp(participants, rules) => {
                let (ramp, actions) = Ramp::start(participants, rules, first);
                (Self::Ramp(Box::new(ramp)), actions)
            }
        }
    }

    /// Takes the next second.
    pub fn take(&mut self, window: &Window) -> Vec<Action> {
        match self {
            Self::Canary(canary) => canary.take(window),
            Self::Ramp(ramp) => ramp.take(window),
        }
    }

    /// Ends the run for a reason that is not in a window.
    pub fn stop(&mut self, stop: Stop) -> Vec<Action> {
        match self {
            Self::Canary(canary) => canary.stop(stop),
            Self::Ramp(ramp) => ramp.stop(stop),
        }
    }

    /// The response times of the last step with a window, in a ramp.
    pub fn times(&self) -> Option<StepTimes> {
        match self {
            Self::Canary(_) => None,
            Self::Ramp(ramp) => ramp.times(),
        }
    }

    /// What the step of a canary still lacks.
    pub fn lacks(&self) -> Option<StepLacks> {
        match self {
            Self::Canary(canary) => canary.lacks(),
            Self::Ramp(_) => None,
        }
    }

    /// Whether the candidate takes traffic.
    pub fn is_in_step(&self) -> bool {
        match self {
            Self::Canary(canary) => matches!(canary.phase(), Phase::Step(_)),
            Self::Ramp(ramp) => matches!(ramp.phase(), RampPhase::Step(_)),
        }
    }

    /// Whether the candidate's weight is 0 and its sessions are waited for.
    pub fn is_draining(&self) -> bool {
        match self {
            Self::Canary(canary) => canary.phase() == Phase::Draining,
            Self::Ramp(ramp) => ramp.phase() == RampPhase::Draining,
        }
    }

    /// Whether it has ended because the candidate breached.
    pub fn is_breach(&self) -> bool {
        match self {
            Self::Canary(canary) => matches!(canary.answer(), Some(Answer::RolledBack { .. })),
            Self::Ramp(ramp) => {
                let reason = ramp.answer().and_then(|answer| answer.reason.as_ref());
                matches!(reason, Some(RampEnd::Reason(Reason::Breach(_))))
            }
        }
    }

    /// The weights that it has set.
    pub fn weights(&self) -> &Weights {
        match self {
            Self::Canary(canary) => canary.weights(),
            Self::Ramp(ramp) => ramp.weights(),
        }
    }

    /// Where it is, in words.
    pub fn phase_in_words(&self) -> String {
        match self {
            Self::Ramp(ramp) => ramp.step_in_words(),
            Self::Canary(canary) => match canary.phase() {
                Phase::Step(step) => {
                    format!("step {}, {} of the traffic", step + 1, percent(self.weights().candidate_share()))
                }
                Phase::Draining => "waits for the sessions of candidate and control".to_owned(),
                Phase::Ended => "ended".to_owned(),
            },
        }
    }

    /// ln E of each metric, and where the run ends. None in a ramp.
    pub fn evidence(&self) -> Option<EvidenceLogs> {
        match self {
            Self::Ramp(_) => None,
            Self::Canary(canary) => {
                let evidences = canary.evidences();
                let logs = evidences.metrics().map(|metric| (metric, evidences.harm_log(metric)));
                Some(EvidenceLogs { logs: logs.collect(), limit: -evidences.alpha().ln() })
            }
        }
    }

    /// What it has found. None while the candidate takes traffic.
    pub fn found(&self) -> Option<Found> {
        match self {
            Self::Canary(canary) => {
                let answer = canary.answer()?;
                let mut proofs: &[Proof] = &[];
                let ending = match answer {
                    Answer::NoWorse { .. } => Ending::NoWorse,
                    Answer::RolledBack { .. } => Ending::RolledBack,
                    Answer::Stopped { .. } => Ending::Stopped,
                    Answer::NotShown { proofs: of_step, .. } => {
                        proofs = of_step;
                        Ending::NotShown
                    }
                };
                Some(Found {
                    sentence: answer.to_string(),
                    ending,
                    carried: None,
                    as_fast_up_to: None,
                    requests: canary.evidences().requests(),
                    proofs: proofs.iter().map(ProofRecord::from).collect(),
                })
            }
            Self::Ramp(ramp) => {
                let answer = ramp.answer()?;
                let ending = match (&answer.reason, answer.carried) {
                    (Some(RampEnd::Reason(Reason::Stop(_))), _) => Ending::Stopped,
                    (_, Some(_)) => Ending::Carried,
                    (Some(RampEnd::NotSteady), None) => Ending::NotShown,
                    (_, None) => Ending::RolledBack,
                };
                Some(Found {
                    sentence: answer.to_string(),
                    ending,
                    carried: answer.carried,
                    as_fast_up_to: answer.speed.as_fast_up_to(),
                    requests: answer.requests,
                    proofs: Vec::new(),
                })
            }
        }
    }
}
