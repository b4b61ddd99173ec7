//! The walk and the pacing of users, as measured beside the declared: of a trial, and of all valid trials of a variant.

use serde::{Deserialize, Serialize};

/// What users did in the measured time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserWalk {
    /// How many users there were.
    pub count: u32,
    /// The users by Little's law: operations a second times the mean of response time and delay until the next.
    #[serde(default)]
    pub count_by_littles_law: Option<f64>,
    /// Operations that fell due.
    pub begun: u64,
    /// The mean delay that the scenario declares for its mix, seconds.
    pub declared_delay_s: f64,
    /// The mean delay that was drawn, seconds.
    #[serde(default)]
    pub drawn_delay_s: Option<f64>,
    /// The mean delay as it was, seconds: longer where operations took longer than their cycles.
    #[serde(default)]
    pub actual_delay_s: Option<f64>,
    /// Each operation.
    pub operations: Vec<WalkedOperation>,
    /// What was done outside the mix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<OutsideOperation>,
}

/// An operation outside the mix of users: the server did its work, and it is in no figure of the mix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutsideOperation {
    /// Its name.
    pub name: String,
    /// When it was due: `after` the load, or the delay between one and the next, such as `cycle 30s`.
    pub due: String,
    /// How often it succeeded.
    pub requests: u64,
    /// How often it failed.
    pub failed: u64,
    /// The mean of its response times, microseconds; none where none succeeded.
    #[serde(default)]
    pub mean_us: Option<f64>,
}

/// An operation in the walk of users.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WalkedOperation {
    /// Its name.
    pub name: String,
    /// How often it fell due.
    pub begun: u64,
    /// Its declared share of all, per cent.
    pub declared_percent: f64,
    /// What came after it, per cent, in the order of the operations; empty where that does not depend on it, or nothing was seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_percent: Vec<f64>,
    /// The declared row; empty where the next operation does not depend on this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declared_next_percent: Vec<f64>,
    /// The delay after it as the scenario has it, such as `cycle exp:5s`.
    pub delay: String,
    /// The mean of its delays as declared, seconds.
    pub declared_delay_s: f64,
    /// As they were, seconds.
    #[serde(default)]
    pub actual_delay_s: Option<f64>,
    /// Its limit, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Whether the limit is met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meets_limit: Option<bool>,
}

impl UserWalk {
    /// The walks of several trials of one scenario as one; none without any. Means are by the operations of each.
    pub fn merged<'w>(walks: impl IntoIterator<Item = &'w Self>) -> Option<Self> {
        let mut walks = walks.into_iter();
        let first = walks.next()?.clone();
        Some(walks.fold(first, Self::with))
    }

    fn with(mut self, other: &Self) -> Self {
        let weights = (self.begun as f64, other.begun as f64);
        self.count_by_littles_law = mean(self.count_by_littles_law, other.count_by_littles_law, weights);
        self.drawn_delay_s = mean(self.drawn_delay_s, other.drawn_delay_s, weights);
        self.actual_delay_s = mean(self.actual_delay_s, other.actual_delay_s, weights);
        self.begun += other.begun;
        for (operation, other) in self.operations.iter_mut().zip(&other.operations) {
            let weights = (operation.begun as f64, other.begun as f64);
            if operation.next_percent.is_empty() {
                operation.next_percent.clone_from(&other.next_percent);
            } else {
                for (percent, other) in operation.next_percent.iter_mut().zip(&other.next_percent) {
                    *percent = weighted(*percent, *other, weights);
                }
            }
            operation.actual_delay_s = mean(operation.actual_delay_s, other.actual_delay_s, weights);
            operation.meets_limit = operation.meets_limit.zip(other.meets_limit).map(|(a, b)| a && b);
            operation.begun += other.begun;
        }
        for (operation, other) in self.outside.iter_mut().zip(&other.outside) {
            let weights = (operation.requests as f64, other.requests as f64);
            operation.mean_us = mean(operation.mean_us, other.mean_us, weights);
            operation.requests += other.requests;
            operation.failed += other.failed;
        }
        self
    }

    /// The share of an operation, per cent; none where no operation fell due.
    pub fn percent(&self, operation: &WalkedOperation) -> Option<f64> {
        (self.begun > 0).then(|| 100.0 * operation.begun as f64 / self.begun as f64)
    }
}

/// The mean of two figures, or the one that is there.
fn mean(a: Option<f64>, b: Option<f64>, weights: (f64, f64)) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(weighted(a, b, weights)),
        (one, other) => one.or(other),
    }
}

fn weighted(a: f64, b: f64, (of_a, of_b): (f64, f64)) -> f64 {
    let all = of_a + of_b;
    if all > 0.0 { (a * of_a + b * of_b) / all } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(home: u64, buy: u64, home_to_buy: f64) -> UserWalk {
        let operation = |name: &str, begun, next: [f64; 2]| WalkedOperation {
            name: name.to_owned(),
            begun,
            declared_percent: 50.0,
            next_percent: next.to_vec(),
            declared_next_percent: vec![50.0, 50.0],
            delay: "cycle 1s".to_owned(),
            declared_delay_s: 1.0,
            actual_delay_s: Some(1.0),
            limit: None,
            meets_limit: None,
        };
        UserWalk {
            count: 10,
            count_by_littles_law: Some(10.0),
            begun: home + buy,
            declared_delay_s: 1.0,
            drawn_delay_s: Some(1.0),
            actual_delay_s: Some(1.0),
            operations: vec![
                operation("home", home, [100.0 - home_to_buy, home_to_buy]),
                operation("buy", buy, [50.0, 50.0]),
            ],
            outside: vec![OutsideOperation {
                name: "poll".to_owned(),
                due: "cycle 1s".to_owned(),
                requests: home,
                failed: 1,
                mean_us: Some(buy as f64),
            }],
        }
    }

    #[test]
    fn the_walks_of_trials_are_one_by_their_operations() {
        let merged = UserWalk::merged([&walk(100, 100, 40.0), &walk(300, 100, 60.0)]).expect("walks");
        assert_eq!((merged.begun, merged.count), (600, 10));
        assert!((merged.operations[0].next_percent[1] - 55.0).abs() < 1e-9, "{merged:?}");
        let share = merged.percent(&merged.operations[0]).expect("operations");
        assert!((share - 66.666).abs() < 0.01, "{share}");
        let poll = &merged.outside[0];
        assert_eq!((poll.requests, poll.failed, poll.mean_us), (400, 2, Some(100.0)));
        assert_eq!(UserWalk::merged([]), None);
    }
}
