//! The anytime-valid processes of a canary, one a metric over the whole rollout: evidence that the candidate does harm, and evidence
//! that harm beyond a margin is excluded.

use std::collections::{BTreeMap, VecDeque};

use stats::anytime::bounds::highest_rate;
use stats::anytime::counts::{self, Dispersion, TwoCounts};
use stats::anytime::excess::{ExcessBets, Tolerance};
use stats::anytime::windows::{SideWindow, WindowBets};

use super::metric::{Bound, Metric, MetricState};
use super::proof::{Proof, growth};
use super::rules::CanaryRules;
use crate::guard::Breach;
use crate::guard::percent;
use crate::observation::ServerWindow;

/// The probability that lateness within the margin, or a negligible one, is taken for one that matters. It is larger than α, because
/// most that is found is far beyond the margin, and users should not wait for the last proof of how far.
const MATTERS_ALPHA: f64 = 0.05;

/// Windows of the recent ratio: five minutes. A leak shows there before it shows in the whole rollout.
const RECENT: usize = 300;

/// The counts of a metric.
#[derive(Debug, Clone, Default)]
struct Counts {
    all: TwoCounts,
    recent: VecDeque<TwoCounts>,
    dispersion: Dispersion,
}

impl Counts {
    fn record(&mut self, window: TwoCounts) {
        self.all.add(window);
        self.dispersion.record(window.candidate, window.candidate_operations);
        self.dispersion.record(window.control, window.control_operations);
        self.recent.push_back(window);
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
    }

    fn recent(&self) -> TwoCounts {
        let mut sum = TwoCounts::default();
        for window in &self.recent {
            sum.add(*window);
        }
        sum
    }
}

/// All processes of a canary.
#[derive(Debug, Clone)]
pub struct Evidences {
    rules: CanaryRules,
    /// The part of α of each metric.
    alpha: f64,
    bets: WindowBets,
    /// Bets that lateness is beyond the margin, and beyond what is negligible.
    excesses: [ExcessBets; 2],
    counts: BTreeMap<Metric, Counts>,
}

impl Evidences {
    /// Without a window.
    pub fn new(rules: &CanaryRules) -> Self {
        Self {
            rules: rules.clone(),
            alpha: rules.alpha / Metric::of(rules.is_mail).len() as f64,
            bets: WindowBets::default(),
            excesses: [Tolerance::Ratio(rules.margin), Tolerance::Share(rules.negligible)]
                .map(ExcessBets::new),
            counts: Metric::of(rules.is_mail).iter().map(|metric| (*metric, Counts::default())).collect(),
        }
    }

    /// Takes a window of both sides.
    pub fn record(&mut self, candidate: &ServerWindow, control: &ServerWindow, objective_ms: u32) {
        let (a, b) = (answered(candidate, objective_ms), answered(control, objective_ms));
        self.bets.record(a, b);
        for excess in &mut self.excesses {
            excess.record(a, b);
        }
        let (of_candidate, of_control) =
            (candidate.mail.unwrap_or_default(), control.mail.unwrap_or_default());
        for (metric, counts) in &mut self.counts {
            let (candidate_events, control_events) = match metric {
                Metric::Late => (a.late, b.late),
                Metric::Failed => (candidate.failed.total(), control.failed.total()),
                Metric::Deferred | Metric::Rejected | Metric::DeliveredTwice => {
                    (metric.in_mail(&of_candidate), metric.in_mail(&of_control))
                }
            };
            let (candidate_operations, control_operations) = match metric {
                Metric::Late => (a.operations, b.operations),
                Metric::Failed => (candidate.requests, control.requests),
                Metric::Deferred | Metric::Rejected | Metric::DeliveredTwice => {
                    (of_candidate.messages, of_control.messages)
                }
            };
            // A failure that the log has no answer of may be counted a window before its request, and a message may be deferred long after
            // it was accepted: the share is at most 1.
            counts.record(TwoCounts {
                candidate: candidate_events,
                control: control_events,
                candidate_operations: candidate_operations.max(candidate_events),
                control_operations: control_operations.max(control_events),
            });
        }
    }

    /// What is compared.
    pub fn metrics(&self) -> impl Iterator<Item = Metric> {
        self.counts.keys().copied()
    }

    fn counts(&self, metric: Metric) -> &Counts {
        &self.counts[&metric]
    }

    /// ln E against "the candidate does no harm".
    pub fn harm_log(&self, metric: Metric) -> f64 {
        match metric {
            Metric::Late => self.bets.evidence().log(),
            // The margin is in the null hypothesis, so that much traffic makes no small difference a breach.
            Metric::Failed | Metric::Deferred | Metric::Rejected | Metric::DeliveredTwice => {
                counts::above(self.counts(metric).all, self.rules.margin, Dispersion::INDEPENDENT).log()
            }
        }
    }

    /// The part of α of each metric.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Requests of the candidate.
    pub fn requests(&self) -> u64 {
        self.counts(Metric::Failed).all.candidate_operations
    }

    /// Where a metric stands.
    pub fn state(&self, metric: Metric) -> MetricState {
        let counts = self.counts(metric);
        MetricState {
            metric,
            counts: counts.all,
            harm_log: self.harm_log(metric),
            ratio_bound: counts::ratio_bound(counts.all, self.alpha, counts.dispersion),
            highest_rate: self.highest_rate(metric),
        }
    }

    fn highest_rate(&self, metric: Metric) -> f64 {
        let counts = self.counts(metric);
        highest_rate(counts.all.candidate, counts.all.candidate_operations, self.alpha, counts.dispersion)
    }

    /// The breach of a metric, if its evidence suffices and the difference matters.
    pub fn breach(&self) -> Option<Breach> {
        for metric in self.metrics() {
            let harm_log = self.harm_log(metric);
            let counts = self.counts(metric);
            if harm_log < -self.alpha.ln() || !self.surely_matters(metric) {
                continue;
            }
            let shown = [counts.all, counts.recent()].into_iter().find(|counts| self.matters(*counts));
            if let Some(shown) = shown {
                return Some(Breach::Evidence {
                    what: metric.counted(),
                    metric: metric.in_words(),
                    candidate: percent(share(shown.candidate, shown.candidate_operations)),
                    control: percent(share(shown.control, shown.control_operations)),
                    margin: self.rules.margin,
                    evidence: harm_log.exp(),
                });
            }
        }
        None
    }

    /// Whether the difference of a metric is beyond the margin, and not by chance. What is compared by counts has the margin in its null
    /// hypothesis already.
    fn surely_matters(&self, metric: Metric) -> bool {
        metric != Metric::Late || self.excesses.iter().all(|bets| bets.evidence().rejects(MATTERS_ALPHA))
    }

    /// Whether the candidate's share is beyond the margin, and beyond what is negligible.
    fn matters(&self, counts: TwoCounts) -> bool {
        let candidate = share(counts.candidate, counts.candidate_operations);
        let control = share(counts.control, counts.control_operations);
        candidate > self.rules.negligible && candidate > self.rules.margin * control
    }

    /// Whether a ratio of `margin` or more is excluded for each metric, or its share is negligible.
    pub fn excludes(&self, margin: f64) -> bool {
        self.metrics().all(|metric| self.shows(metric, margin, 1.0))
    }

    /// Whether a metric is shown for a margin, also after `factor` times the requests if the candidate is as good as the control from now on.
    fn shows(&self, metric: Metric, margin: f64, factor: f64) -> bool {
        let counts = self.counts(metric);
        let all = counts.all.continued(factor);
        counts::below(all, margin, counts.dispersion).rejects(self.alpha)
            || highest_rate(all.candidate, all.candidate_operations, self.alpha, counts.dispersion)
                < self.rules.negligible_at(margin)
    }

    /// What is shown of each metric for a margin, and what it lacks.
    pub fn proofs(&self, margin: f64) -> Vec<Proof> {
        let metrics = self.metrics();
        metrics
            .map(|metric| {
                let state = self.state(metric);
                let is_shown = self.shows(metric, margin, 1.0);
                let bound = match state.ratio_bound {
                    _ if is_shown => Bound::of(&state, margin),
                    Some(ratio) => Bound::Ratio(ratio),
                    None => Bound::Rate(state.highest_rate),
                };
                let requests = state.counts.candidate_operations;
                let factor = if is_shown || requests == 0 {
                    None
                } else {
                    growth(|factor| self.shows(metric, margin, factor))
                };
                Proof {
                    metric,
                    is_shown,
                    bound,
                    margin,
                    negligible: self.rules.negligible_at(margin),
                    more_requests: factor.map(|factor| (requests as f64 * (factor - 1.0)).ceil() as u64),
                    harm_log: state.harm_log,
                }
            })
            .collect()
    }
}

fn answered(server: &ServerWindow, objective_ms: u32) -> SideWindow {
    SideWindow { late: server.late(objective_ms), operations: server.response_ms.len() as u64 }
}

fn share(events: u64, operations: u64) -> f64 {
    events as f64 / operations.max(1) as f64
}
