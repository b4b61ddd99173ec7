//! How long the steps of a canary take at a rate of requests, at the best: no answer is late, and none fails. What a step has shown is
//! left to the processes of its metrics.

use stats::anytime::bounds::highest_rate_without_events;

use super::metric::Metric;
use super::rules::{CanaryRules, share_at};
use crate::balancer::interface::HIGHEST_WEIGHT;

/// A step at a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepOutlook {
    /// The candidate's share of all traffic, 0 to 1.
    pub share: f64,
    /// The least time of the step in seconds. Infinite without traffic.
    pub seconds: f64,
    /// Requests of the candidate in this step.
    pub requests: f64,
}

/// A step that cannot end within its longest time, and what would let it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TooLong {
    /// The number of the step, from 0.
    pub step: usize,
    /// Requests that the candidate needs from the start on.
    pub needed: u64,
    /// The candidate's requests a second in this step.
    pub rate: f64,
    /// The time that the step needs, in seconds.
    pub seconds: f64,
    /// The smallest weight with which the longest time suffices. None if none does.
    pub weight: Option<u32>,
}

/// What the steps of a canary need at a rate.
#[derive(Debug, Clone, PartialEq)]
pub struct Outlook {
    /// Each step.
    pub steps: Vec<StepOutlook>,
    /// The first step that cannot end.
    pub too_long: Option<TooLong>,
}

impl Outlook {
    /// The steps of these rules at so many requests a second of all servers.
    pub fn of(rules: &CanaryRules, old_servers: usize, rate: f64) -> Self {
        let mut outlook = Self { steps: Vec::new(), too_long: None };
        let mut requests_before = 0.0;
        for (number, step) in rules.steps.iter().enumerate() {
            let share = share_at(step.weight, old_servers);
            let of_candidate = share * rate;
            let needed = rules.requests_without_events(step.margin);
            let lacking = (needed as f64 - requests_before).max(0.0);
            let seconds = if lacking > 0.0 { lacking / of_candidate } else { 0.0 }.max(rules.dwell_s as f64);
            let requests = of_candidate * seconds;
            if seconds > rules.longest_s as f64 && outlook.too_long.is_none() {
                // A larger weight at this step, and no larger share than the plan allows.
                let weight = (step.weight..=HIGHEST_WEIGHT).find(|weight| {
                    let share = share_at(*weight, old_servers);
                    share <= rules.max_share && share * rate * rules.longest_s as f64 >= lacking
                });
                outlook.too_long =
                    Some(TooLong { step: number, needed, rate: of_candidate, seconds, weight });
            }
            requests_before += if requests.is_finite() { requests } else { 0.0 };
            outlook.steps.push(StepOutlook { share, seconds, requests });
        }
        outlook
    }
}

impl CanaryRules {
    /// How many requests of the candidate exclude what a margin asks for, if none of them is late or fails.
    pub fn requests_without_events(&self, margin: f64) -> u64 {
        let limit = self.negligible_at(margin);
        let alpha = self.alpha / Metric::of(self.is_mail).len() as f64;
        let (mut few, mut enough) = (0_u64, 1_u64);
        while highest_rate_without_events(enough, alpha) >= limit && enough < u64::MAX / 4 {
            (few, enough) = (enough, enough * 2);
        }
        while enough - few > 1 {
            let middle = few.midpoint(enough);
            if highest_rate_without_events(middle, alpha) < limit {
                enough = middle;
            } else {
                few = middle;
            }
        }
        enough
    }
}
