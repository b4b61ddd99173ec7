//! What a canary is allowed to do, in numbers: its steps, and what ends each of them.

use crate::guard::HardLimits;

/// The weights of the candidate and of the control, in steps, against [`OLD_WEIGHT`] of each old server.
pub const WEIGHTS: [u32; 5] = [1, 4, 16, 32, 64];
/// The weight of each old server during a canary.
pub(crate) const OLD_WEIGHT: u32 = 64;
/// The ratio to the control that each step must exclude. The last step of a plan has the plan's margin.
const MARGINS: [f64; 4] = [4.0, 3.0, 2.0, 1.5];

/// One step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The weight of the candidate, and that of the control.
    pub weight: u32,
    /// The step ends when a ratio to the control of this or more is excluded for each metric.
    pub margin: f64,
}

/// The numbers of a canary.
#[derive(Debug, Clone, PartialEq)]
pub struct CanaryRules {
    /// In rising order; one at least.
    pub steps: Vec<Step>,
    /// Weights of the plan with which the candidate would have more than `max_share`: left out.
    pub left_out: Vec<u32>,
    /// The candidate's largest share of all traffic, 0 to 1.
    pub max_share: f64,
    /// The least time of a step in seconds: a leak needs time to show.
    pub dwell_s: u64,
    /// The longest time of a step in seconds. A step that excludes nothing by then ends the run without an answer.
    pub longest_s: u64,
    /// A ratio to the control that does not matter, 1 or more.
    pub margin: f64,
    /// A share of late or failed requests that does not matter, whatever the control's is, 0 to 1.
    pub negligible: f64,
    /// The probability of a false alarm of the whole run, 0 to 1.
    pub alpha: f64,
    /// Whether the logs of mail servers are read: what they say is compared, too.
    pub is_mail: bool,
    /// Limits that wait for no statistics.
    pub hard: HardLimits,
}

impl CanaryRules {
    /// The share that is negligible at a step, 0 to 1. At a larger margin a larger share is negligible, in proportion.
    pub fn negligible_at(&self, margin: f64) -> f64 {
        self.negligible * margin / self.margin
    }

    /// Why the last step has less than [`max_share`](Self::max_share) of the traffic. None if it has all that the plan allows.
    pub fn why_no_more(&self, old_servers: usize) -> Option<String> {
        if !self.left_out.is_empty() {
            let weights: Vec<String> = self.left_out.iter().map(u32::to_string).collect();
            return Some(format!("`max_share` leaves out weight {}", weights.join(", ")));
        }
        let last = self.steps.last()?.weight;
        if share_at(last, old_servers) >= self.max_share {
            return None;
        }
        Some(format!(
            "the largest weight is {last}, and {old_servers} × {OLD_WEIGHT} of old servers and {last} of the control are beside it"
        ))
    }
}

/// The candidate's part of all traffic at a weight that the control has, too, 0 to 1.
pub fn share_at(weight: u32, old_servers: usize) -> f64 {
    let weight = f64::from(weight);
    weight / (2.0 * weight + f64::from(OLD_WEIGHT) * old_servers as f64)
}

/// The weights with which the candidate would have more than `max_share` of all traffic.
pub fn weights_left_out(weights: &[u32], max_share: f64, old_servers: usize) -> Vec<u32> {
    weights.iter().copied().filter(|weight| share_at(*weight, old_servers) > max_share).collect()
}

/// The steps of these weights, without those in which the candidate would have more than `max_share` of all traffic.
pub fn usual_steps(weights: &[u32], margin: f64, max_share: f64, old_servers: usize) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (number, weight) in weights.iter().enumerate() {
        if share_at(*weight, old_servers) <= max_share {
            let of_step = MARGINS.get(number).copied().unwrap_or(margin);
            steps.push(Step { weight: *weight, margin: of_step.max(margin) });
        }
    }
    if let Some(last) = steps.last_mut() {
        last.margin = margin;
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_end_at_the_largest_share_and_the_last_one_has_the_margin() {
        let steps = usual_steps(&WEIGHTS, 1.25, 0.5, 2);
        assert_eq!(steps.iter().map(|step| step.weight).collect::<Vec<_>>(), WEIGHTS);
        assert_eq!(steps.iter().map(|step| step.margin).collect::<Vec<_>>(), [4.0, 3.0, 2.0, 1.5, 1.25]);
        // 16 of 2 × 64 + 2 × 16 is 10 %.
        let steps = usual_steps(&WEIGHTS, 1.25, 0.1, 2);
        assert_eq!(steps.last(), Some(&Step { weight: 16, margin: 1.25 }));
        assert!(usual_steps(&WEIGHTS, 1.25, 0.001, 2).is_empty());
    }

    #[test]
    fn no_step_has_a_smaller_margin_than_the_plan() {
        assert!(usual_steps(&WEIGHTS, 5.0, 0.5, 2).iter().all(|step| step.margin == 5.0));
    }
}
