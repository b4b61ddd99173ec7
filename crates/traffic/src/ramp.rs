//! A ramp: the candidate's weight as a multiple of one old server's, until it breaches a hard limit or its own objective. There is no
//! control of equal weight, and so no comparison: the answer is a multiple.

use std::collections::BTreeMap;
use std::fmt;

use stats::anytime::counts::{Dispersion, share};

use crate::guard::{Breach, Guard, HardLimits, Reason, Stop, percent};
use crate::observation::{Action, ServerWindow, Window};
use crate::rollout::is_drained;
use crate::weights::{Participants, Weights};

/// The multiples of one old server's share, in steps.
pub const MULTIPLES: [f64; 7] = [1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0];
/// The weight of each old server during a ramp: eight times as much is the most that the balancer takes.
const OLD_WEIGHT: u32 = 32;

/// The numbers of a ramp.
#[derive(Debug, Clone, PartialEq)]
pub struct RampRules {
    /// Multiples in rising order; one at least.
    pub multiples: Vec<f64>,
    /// The least time of a step in seconds.
    pub dwell_s: u64,
    /// The longest time of a step in seconds, in which the sessions in progress must become steady.
    pub longest_s: u64,
    /// The percentile of the objective, 0 to 100.
    pub quantile: f64,
    /// The probability that a step of the whole ramp is called a breach by chance, 0 to 1. The steps divide it.
    pub alpha: f64,
    /// Limits that wait for no statistics, and the objective in ms.
    pub hard: HardLimits,
}

/// The multiples, without those with which the candidate would have more than `max_share` of all traffic.
pub fn usual_multiples(max_share: f64, old_servers: usize) -> Vec<f64> {
    MULTIPLES.into_iter().filter(|multiple| share_at(*multiple, old_servers) <= max_share).collect()
}

/// The candidate's part of all traffic at a multiple of one old server's, 0 to 1.
pub fn share_at(multiple: f64, old_servers: usize) -> f64 {
    multiple / (multiple + old_servers as f64)
}

/// The multiples of [`MULTIPLES`] beyond the last one of a ramp, in words: "3, 4, 6, 8 × left out by `max_share`". None if there is none.
pub fn left_out(multiples: &[f64]) -> Option<String> {
    let last = multiples.last().copied().unwrap_or(0.0);
    let more: Vec<String> =
        MULTIPLES.iter().filter(|multiple| **multiple > last).map(f64::to_string).collect();
    if more.is_empty() { None } else { Some(format!("{} × left out by `max_share`", more.join(", "))) }
}

/// A candidate whose percentile is at most so many times that of the old servers is as fast as they are.
const SAME_TIME: f64 = 1.1;

/// Response times of both sides in a step, at the percentile of the objective.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepTimes {
    /// The multiple of the step.
    pub multiple: f64,
    /// The percentile, 0 to 100.
    pub percentile: f64,
    /// Of the candidate. None without an answer.
    pub candidate_ms: Option<u32>,
    /// Of all old servers.
    pub old_ms: Option<u32>,
}

impl StepTimes {
    /// Whether the candidate was as fast as the old servers: within [`SAME_TIME`], or within the millisecond of the log. None if there
    /// were no answers of one side.
    fn is_as_fast(&self) -> Option<bool> {
        let (candidate, old) = (self.candidate_ms?, self.old_ms?);
        Some(f64::from(candidate) <= f64::from(old) * SAME_TIME || candidate <= old + 1)
    }
}

/// The candidate compared with the old servers by response time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Speed {
    /// As fast as they were, up to this multiple of those that it carried.
    AsFastUpTo(f64),
    /// Slower at the first multiple already.
    Slower(StepTimes),
    /// It carried no multiple, or there were no answers of one side.
    NotKnown,
}

impl Speed {
    /// By the steps that were carried.
    fn of(carried: &[StepTimes]) -> Self {
        let as_fast = carried.iter().take_while(|step| step.is_as_fast() == Some(true)).last();
        match (as_fast, carried.first()) {
            (Some(step), _) => Self::AsFastUpTo(step.multiple),
            (None, Some(first)) if first.is_as_fast() == Some(false) => Self::Slower(*first),
            _ => Self::NotKnown,
        }
    }

    /// The multiple up to which the candidate was as fast.
    pub fn as_fast_up_to(self) -> Option<f64> {
        match self {
            Self::AsFastUpTo(multiple) => Some(multiple),
            Self::Slower(_) | Self::NotKnown => None,
        }
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AsFastUpTo(multiple) => write!(f, ", as fast as the old servers up to {multiple} ×"),
            Self::Slower(StepTimes {
                multiple,
                percentile,
                candidate_ms: Some(candidate),
                old_ms: Some(old),
            }) => write!(
                f,
                ", slower than the old servers already at {multiple} × (p{percentile} {candidate} ms, of the old servers {old} ms)"
            ),
            Self::Slower(_) | Self::NotKnown => Ok(()),
        }
    }
}

/// What a ramp has found.
#[derive(Debug, Clone, PartialEq)]
pub struct RampAnswer {
    /// The largest multiple that the candidate carried. None if it carried none.
    pub carried: Option<f64>,
    /// How fast the candidate was at the multiples that it carried.
    pub speed: Speed,
    /// Multiples that the plan's largest share leaves out, in words.
    pub left_out: Option<String>,
    /// The multiple at which the run ended.
    pub ended_at: f64,
    /// Why it ended. None: it was the last multiple.
    pub reason: Option<RampEnd>,
    /// When, in seconds since the start.
    pub second: u64,
    /// Requests that the candidate was sent.
    pub requests: u64,
}

/// Why a ramp ended before its last multiple was carried.
#[derive(Debug, Clone, PartialEq)]
pub enum RampEnd {
    /// The candidate breached, or something else happened.
    Reason(Reason),
    /// Sessions in progress, or response times, did not become steady within the longest time of a step.
    NotSteady,
}

impl fmt::Display for RampAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.carried {
            Some(carried) => {
                write!(f, "the candidate carried {carried} × the share of one old server{}", self.speed)?;
            }
            None => write!(f, "the candidate did not carry the share of one old server")?,
        }
        let at = self.ended_at;
        match &self.reason {
            None => {
                write!(f, "; that is the largest share of this plan")?;
                if let Some(left_out) = &self.left_out {
                    write!(f, " ({left_out})")?;
                }
            }
            Some(RampEnd::Reason(Reason::Breach(breach))) => write!(f, "; breached at {at} ×: {breach}")?,
            Some(RampEnd::Reason(Reason::Stop(stop))) => write!(f, "; stopped at {at} ×: {stop}")?,
            Some(RampEnd::NotSteady) => write!(f, "; at {at} × it did not become steady")?,
        }
        let requests = archive::model::thousands(self.requests as f64);
        write!(f, " ({requests} requests, {} s; without a control of equal weight)", self.second)
    }
}

/// Where a ramp is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RampPhase {
    /// The candidate takes traffic at this step, from 0.
    Step(usize),
    /// Its weight is 0, and its sessions are waited for.
    Draining,
    /// Nothing more is asked.
    Ended,
}

/// How often each response time in ms occurred: percentiles are of all of them.
#[derive(Debug, Clone, Default)]
struct ResponseTimes {
    counts: BTreeMap<u32, u64>,
    answered: u64,
}

impl ResponseTimes {
    fn add(&mut self, response_ms: &[u32]) {
        for ms in response_ms {
            *self.counts.entry(*ms).or_default() += 1;
        }
        self.answered += response_ms.len() as u64;
    }

    /// A percentile, 0 to 100, in ms. None without an answer.
    fn percentile(&self, percentile: f64) -> Option<u32> {
        let rank = (percentile / 100.0 * self.answered as f64).ceil() as u64;
        let mut seen = 0;
        for (ms, count) in &self.counts {
            seen += count;
            if seen >= rank {
                return Some(*ms);
            }
        }
        self.counts.keys().next_back().copied()
    }
}

/// What was seen of the candidate in a step.
#[derive(Debug, Clone, Default)]
struct StepSeen {
    times: ResponseTimes,
    /// Those of all old servers.
    old_times: ResponseTimes,
    late: u64,
    answered: u64,
    dispersion: Dispersion,
    in_progress: Vec<u64>,
}

impl StepSeen {
    fn take(&mut self, server: &ServerWindow, objective_ms: u32) {
        self.times.add(&server.response_ms);
        let (late, answered) = (server.late(objective_ms), server.response_ms.len() as u64);
        self.late += late;
        self.answered += answered;
        self.dispersion.record(late, answered);
        self.in_progress.push(server.in_progress);
    }

    fn misses(&self, allowed: f64) -> bool {
        self.answered > 0 && self.late as f64 > allowed * self.answered as f64
    }

    /// Whether the candidate surely misses its objective: more are late than allowed, whenever one looks.
    fn surely_misses(&self, allowed: f64, alpha: f64) -> bool {
        let evidence = share(self.late, self.answered - self.late, allowed).log() / self.dispersion.factor();
        self.misses(allowed) && evidence >= -alpha.ln()
    }

    /// Whether sessions in progress do not grow: their mean in the last third is about that of the middle third.
    fn is_steady(&self) -> bool {
        let third = self.in_progress.len() / 3;
        if third == 0 {
            return false;
        }
        let (middle, last) =
            (mean(&self.in_progress[third..2 * third]), mean(&self.in_progress[2 * third..]));
        last <= 1.5 * middle + 2.0
    }
}

/// A ramp.
#[derive(Debug, Clone)]
pub struct Ramp {
    rules: RampRules,
    guard: Guard,
    weights: Weights,
    phase: RampPhase,
    seconds: u64,
    step_began_s: u64,
    requests: u64,
    seen: StepSeen,
    /// The response times of each step.
    times: Vec<StepTimes>,
    answer: Option<RampAnswer>,
}

impl Ramp {
    /// Begins at a backend that was checked, with one old server's share.
    pub fn start(participants: Participants, rules: RampRules, first: &Window) -> (Self, Vec<Action>) {
        let guard = Guard::new(rules.hard);
        let mut weights = Weights::before(participants, first);
        let mut actions = weights.scale_old(OLD_WEIGHT);
        actions.extend(weights.rise(weight(rules.multiples[0])));
        let ramp = Self {
            rules,
            guard,
            weights,
            phase: RampPhase::Step(0),
            seconds: 0,
            step_began_s: 0,
            requests: 0,
            seen: StepSeen::default(),
            times: Vec::new(),
            answer: None,
        };
        (ramp, actions)
    }

    /// Takes the next second; returns what is asked of the balancer, in this order.
    pub fn take(&mut self, window: &Window) -> Vec<Action> {
        self.seconds += 1;
        match self.phase {
            RampPhase::Step(step) => self.take_in_step(step, window),
            RampPhase::Draining if is_drained(window, self.weights.participants()) => {
                self.phase = RampPhase::Ended;
                vec![Action::Done]
            }
            RampPhase::Draining | RampPhase::Ended => Vec::new(),
        }
    }

    fn take_in_step(&mut self, step: usize, window: &Window) -> Vec<Action> {
        if let Some(server) = window.server(self.weights.participants().candidate.as_str()) {
            self.requests += server.requests;
            self.seen.take(server, self.rules.hard.objective_ms);
        }
        self.take_times(step, window);
        if let Some(reason) = self.guard.check(window, &self.weights) {
            return self.end(step, Some(RampEnd::Reason(reason)));
        }
        let allowed = 1.0 - self.rules.quantile / 100.0;
        let alpha = self.rules.alpha / self.rules.multiples.len() as f64;
        if self.seen.surely_misses(allowed, alpha) {
            let breach = Breach::Objective {
                quantile: self.rules.quantile,
                found_ms: self.seen.times.percentile(self.rules.quantile).unwrap_or(0),
                objective_ms: self.rules.hard.objective_ms,
            };
            return self.end(step, Some(RampEnd::Reason(breach.into())));
        }
        let seconds_in_step = self.seconds - self.step_began_s;
        let is_carried = self.seen.answered > 0 && self.seen.is_steady() && !self.seen.misses(allowed);
        if seconds_in_step >= self.rules.dwell_s && is_carried {
            return self.next_step(step);
        }
        if seconds_in_step >= self.rules.longest_s {
            return self.end(step, Some(RampEnd::NotSteady));
        }
        Vec::new()
    }

    fn take_times(&mut self, step: usize, window: &Window) {
        for server in &window.servers {
            if self.weights.participants().old.iter().any(|old| server.server == *old) {
                self.seen.old_times.add(&server.response_ms);
            }
        }
        let percentile = self.rules.quantile;
        self.times.truncate(step);
        self.times.push(StepTimes {
            multiple: self.rules.multiples[step],
            percentile,
            candidate_ms: self.seen.times.percentile(percentile),
            old_ms: self.seen.old_times.percentile(percentile),
        });
    }

    fn next_step(&mut self, carried: usize) -> Vec<Action> {
        let next = carried + 1;
        let Some(multiple) = self.rules.multiples.get(next).copied() else {
            return self.end(next, None);
        };
        self.phase = RampPhase::Step(next);
        self.step_began_s = self.seconds;
        self.seen = StepSeen::default();
        self.guard.begin_step();
        self.weights.rise(weight(multiple))
    }

    /// Ends at a step; all steps before it were carried.
    fn end(&mut self, step: usize, reason: Option<RampEnd>) -> Vec<Action> {
        let carried = step.checked_sub(1).map(|carried| self.rules.multiples[carried]);
        let last = self.rules.multiples.len() - 1;
        self.answer = Some(RampAnswer {
            carried,
            speed: Speed::of(&self.times[..step.min(self.times.len())]),
            left_out: left_out(&self.rules.multiples),
            ended_at: self.rules.multiples[step.min(last)],
            reason,
            second: self.seconds,
            requests: self.requests,
        });
        self.phase = RampPhase::Draining;
        self.weights.roll_back()
    }

    /// Ends the ramp for a reason that is in no window.
    pub fn stop(&mut self, reason: Stop) -> Vec<Action> {
        match self.phase {
            RampPhase::Step(step) => self.end(step, Some(RampEnd::Reason(reason.into()))),
            RampPhase::Draining | RampPhase::Ended => Vec::new(),
        }
    }

    /// Where the ramp is.
    pub fn phase(&self) -> RampPhase {
        self.phase
    }

    /// What it has found. None while the candidate takes traffic.
    pub fn answer(&self) -> Option<&RampAnswer> {
        self.answer.as_ref()
    }

    /// The response times of the last step with a window.
    pub fn times(&self) -> Option<StepTimes> {
        self.times.last().copied()
    }

    /// The weights that it has set.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// The step as words: "3 × an old server, 60 % of the traffic".
    pub fn step_in_words(&self) -> String {
        match self.phase {
            RampPhase::Step(step) => format!(
                "{} × an old server, {} of the traffic",
                self.rules.multiples[step],
                percent(self.weights.candidate_share())
            ),
            RampPhase::Draining => "waits for the candidate's sessions".to_owned(),
            RampPhase::Ended => "ended".to_owned(),
        }
    }
}

fn mean(windows: &[u64]) -> f64 {
    windows.iter().sum::<u64>() as f64 / windows.len() as f64
}

fn weight(multiple: f64) -> u32 {
    (multiple * f64::from(OLD_WEIGHT)).round() as u32
}
