//! A canary or a ramp, as a run sees it.

use crate::guard::{Reason, Stop, percent};
use crate::observation::{Action, Window};
use crate::plan::{PlanError, PlannedNames, ShiftPlan};
use crate::ramp::{self, Ramp, RampEnd, RampPhase, RampRules};
use crate::rollout::{self, Answer, Canary, CanaryRules, Metric, Phase};
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

    /// The candidate's share of all traffic in each step, 0 to 1, and the least time of a step in seconds.
    pub fn shares(&self) -> (Vec<f64>, u64) {
        let old = self.participants().old.len();
        match self {
            Self::Canary(_, rules) => {
                let shares = rules.steps.iter().map(|step| rollout::share_at(step.weight, old));
                (shares.collect(), rules.dwell_s)
            }
            Self::Ramp(_, rules) => {
                let shares = rules.multiples.iter().map(|multiple| ramp::share_at(*multiple, old));
                (shares.collect(), rules.dwell_s)
            }
        }
    }
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

    /// The percentile that a ramp looks at, 0 to 100.
    pub fn percentile(&self) -> Option<f64> {
        match self {
            Self::Canary(_) => None,
            Self::Ramp(ramp) => Some(ramp.percentile()),
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

    /// The answer in a sentence, how it ended, the multiple that was carried, and the candidate's requests.
    pub fn answer(&self) -> Option<(String, Ending, Option<f64>, u64)> {
        match self {
            Self::Canary(canary) => {
                let answer = canary.answer()?;
                let ending = match answer {
                    Answer::NoWorse { .. } => Ending::NoWorse,
                    Answer::RolledBack { .. } => Ending::RolledBack,
                    Answer::Stopped { .. } => Ending::Stopped,
                    Answer::NotShown { .. } => Ending::NotShown,
                };
                Some((answer.to_string(), ending, None, canary.evidences().requests()))
            }
            Self::Ramp(ramp) => {
                let answer = ramp.answer()?;
                let ending = match (&answer.reason, answer.carried) {
                    (Some(RampEnd::Reason(Reason::Stop(_))), _) => Ending::Stopped,
                    (_, Some(_)) => Ending::Carried,
                    (Some(RampEnd::NotSteady), None) => Ending::NotShown,
                    (_, None) => Ending::RolledBack,
                };
                Some((answer.to_string(), ending, answer.carried, answer.requests))
            }
        }
    }
}
