//! The state machine of a canary: windows in, actions and an answer out.

use super::answer::Answer;
use super::evidence::Evidences;
use super::metric::Bound;
use super::proof::{Proof, StepLacks};
use super::rules::{CanaryRules, OLD_WEIGHT, Step};
use crate::guard::{Guard, Reason, Stop};
use crate::observation::{Action, ServerState, Window};
use crate::weights::{Participants, Weights};

/// Where a canary is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The candidate and the control take traffic at this step, from 0.
    Step(usize),
    /// Their weights are 0, and their sessions are waited for.
    Draining,
    /// Nothing more is asked.
    Ended,
}

/// A step that has excluded its margin and lasted its dwell time. Only this raises a weight.
struct PassedStep(usize);

/// A canary.
#[derive(Debug, Clone)]
pub struct Canary {
    rules: CanaryRules,
    guard: Guard,
    weights: Weights,
    evidences: Evidences,
    phase: Phase,
    seconds: u64,
    step_began_s: u64,
    /// Requests of the candidate before this step.
    requests_before_step: u64,
    answer: Option<Answer>,
}

impl Canary {
    /// Begins the first step at a backend that was checked.
    pub fn start(participants: Participants, rules: CanaryRules, first: &Window) -> (Self, Vec<Action>) {
        let guard = Guard::new(rules.hard);
        let mut weights = Weights::before(participants, first);
        let mut actions = weights.scale_old(OLD_WEIGHT);
        actions.extend(weights.rise(rules.steps[0].weight));
        let evidences = Evidences::new(&rules);
        let phase = Phase::Step(0);
        let canary = Self {
            rules,
            guard,
            weights,
            evidences,
            phase,
            seconds: 0,
            step_began_s: 0,
            requests_before_step: 0,
            answer: None,
        };
        (canary, actions)
    }

    /// Takes the next second; returns what is asked of the balancer, in this order.
    pub fn take(&mut self, window: &Window) -> Vec<Action> {
        self.seconds += 1;
        match self.phase {
            Phase::Step(step) => self.take_in_step(step, window),
            Phase::Draining => self.take_while_draining(window),
            Phase::Ended => Vec::new(),
        }
    }

    fn take_in_step(&mut self, step: usize, window: &Window) -> Vec<Action> {
        if let Some(reason) = self.guard.check(window, &self.weights) {
            return self.end(reason);
        }
        let participants = self.weights.participants();
        let control = participants.control.as_ref().and_then(|control| window.server(control.as_str()));
        if let (Some(candidate), Some(control)) = (window.server(participants.candidate.as_str()), control)
            && [candidate, control].iter().all(|server| server.has_arrived())
        {
            self.evidences.record(candidate, control, self.rules.hard.objective_ms);
        }
        if let Some(breach) = self.evidences.breach() {
            return self.end(breach.into());
        }
        let seconds_in_step = self.seconds - self.step_began_s;
        let Step { margin, .. } = self.rules.steps[step];
        if seconds_in_step >= self.rules.dwell_s && self.evidences.excludes(margin) {
            return self.next_step(&PassedStep(step));
        }
        if seconds_in_step >= self.rules.longest_s {
            let proofs = self.evidences.proofs(margin);
            let needs_s = self.seconds_left(&proofs).map(|left| seconds_in_step + left);
            return self.roll_back(Answer::NotShown {
                margin,
                proofs,
                needs_s,
                share: self.weights.candidate_share(),
                second: self.seconds,
                requests: self.evidences.requests(),
            });
        }
        Vec::new()
    }

    fn next_step(&mut self, passed: &PassedStep) -> Vec<Action> {
        let next = passed.0 + 1;
        let Some(Step { weight, .. }) = self.rules.steps.get(next).copied() else {
            let metrics = self.evidences.metrics();
            let bounds: Vec<_> = metrics
                .map(|metric| (metric, Bound::of(&self.evidences.state(metric), self.rules.margin)))
                .collect();
            return self.roll_back(Answer::NoWorse {
                bounds,
                alpha: self.rules.alpha,
                requests: self.evidences.requests(),
                share: self.weights.candidate_share(),
                why_no_more: self.rules.why_no_more(self.weights.participants().old.len()),
                seconds: self.seconds,
            });
        };
        self.phase = Phase::Step(next);
        self.step_began_s = self.seconds;
        self.requests_before_step = self.evidences.requests();
        self.guard.begin_step();
        self.weights.rise(weight)
    }

    /// The time in seconds until these are shown, at the rate of this step. None without an estimate.
    fn seconds_left(&self, proofs: &[Proof]) -> Option<u64> {
        let seconds = self.seconds - self.step_began_s;
        let rate = (self.evidences.requests() - self.requests_before_step) as f64 / seconds.max(1) as f64;
        let mut most = 0.0_f64;
        for proof in proofs.iter().filter(|proof| !proof.is_shown) {
            // Messages of mail are not sessions: the estimate is rougher there.
            most = most.max(proof.more_requests? as f64 / rate);
        }
        if most.is_finite() { Some(most.ceil() as u64) } else { None }
    }

    /// What the step still lacks. None if there is no step.
    pub fn lacks(&self) -> Option<StepLacks> {
        let Phase::Step(step) = self.phase else { return None };
        let seconds_in_step = self.seconds - self.step_began_s;
        let dwell_left_s = self.rules.dwell_s.saturating_sub(seconds_in_step);
        let proofs = self.evidences.proofs(self.rules.steps[step].margin);
        let seconds_left = self.seconds_left(&proofs).map(|left| left.max(dwell_left_s));
        let longest_left_s = self.rules.longest_s.saturating_sub(seconds_in_step);
        let limit_log = -self.evidences.alpha().ln();
        Some(StepLacks { proofs, limit_log, dwell_left_s, seconds_left, longest_left_s })
    }

    fn end(&mut self, reason: Reason) -> Vec<Action> {
        let share = self.weights.candidate_share();
        self.roll_back(Answer::early(reason, share, self.seconds, self.evidences.requests()))
    }

    fn roll_back(&mut self, answer: Answer) -> Vec<Action> {
        self.answer = Some(answer);
        self.phase = Phase::Draining;
        self.weights.roll_back()
    }

    fn take_while_draining(&mut self, window: &Window) -> Vec<Action> {
        if !is_drained(window, self.weights.participants()) {
            return Vec::new();
        }
        self.phase = Phase::Ended;
        vec![Action::Done]
    }

    /// Ends the run for a reason that is in no window: a person says so, or a weight cannot be raised.
    pub fn stop(&mut self, stop: Stop) -> Vec<Action> {
        match self.phase {
            Phase::Step(_) => self.end(stop.into()),
            Phase::Draining | Phase::Ended => Vec::new(),
        }
    }

    /// Where the canary is.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// What it has found. None while it takes traffic.
    pub fn answer(&self) -> Option<&Answer> {
        self.answer.as_ref()
    }

    /// The processes of the metrics.
    pub fn evidences(&self) -> &Evidences {
        &self.evidences
    }

    /// The weights that it has set.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }
}

/// Whether the added servers have no session in progress, and no message in the queue. A reload has removed them from the balancer: then
/// their sessions are those of the process before, which ends with the last one.
pub(crate) fn is_drained(window: &Window, participants: &Participants) -> bool {
    if window.old_process.is_some() {
        return false;
    }
    participants.added().all(|name| match window.server(name.as_str()) {
        Some(server) => {
            let is_delivered = server.mail.is_none_or(|mail| mail.log_arrived && mail.queued == 0);
            let is_absent = server.state == Some(ServerState::Absent);
            is_delivered && (is_absent || (server.counters_arrived && server.in_progress == 0))
        }
        None => window.identity.is_some(),
    })
}
