//! Part of `explanation.json`: slow requests beside median ones, step by step.

use serde::{Deserialize, Serialize};

/// The slowest operations of a slice of its own, beside median ones of the same slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlowRequests {
    /// What makes them slow, in one sentence.
    pub sentence: String,
    /// Operations of the slice.
    pub operations: u64,
    /// Slow operations whose steps are known.
    pub traced: u64,
    /// Median response time of the slice, microseconds.
    pub median_us: f64,
    /// The response time that 99.9 % of the operations do not exceed, microseconds. The others are slow.
    pub slow_us: f64,
    /// What could be seen here, in words.
    pub level: String,
    /// Watching ended by itself after this time, because it used too much CPU time or memory, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_after_s: Option<f64>,
    /// Throughput of the slice over that of the plain one beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput_ratio: Option<f64>,
    /// What response time consists of, what slow operations have more of first.
    pub parts: Vec<RequestPart>,
    /// What the threads of slow operations ran while these were in hand, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<RequestFunction>,
    /// A slow operation and a median one.
    pub requests: Vec<TracedRequest>,
}

/// A part of the response time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestPart {
    /// Its name, such as `waiting for a CPU` or `blocked: lock`.
    pub part: String,
    /// Its mean in slow operations, microseconds.
    pub slow_us: f64,
    /// Its mean in median operations, microseconds.
    pub median_us: f64,
}

/// A function that ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestFunction {
    /// The function.
    pub frame: String,
    /// The name of its file, as in a profile.
    pub module: String,
    /// Its share of the samples of slow operations, 0 to 1.
    pub share: f64,
}

/// An operation step by step. The steps sum to its response time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TracedRequest {
    /// Whether it is a slow one.
    pub is_slow: bool,
    /// The operation of the workload.
    pub operation: String,
    /// From its intended start until the client's kernel had received its reply, microseconds.
    pub response_us: f64,
    /// Its steps in order of time.
    pub steps: Vec<RequestStep>,
    /// What all threads of the server did in this time.
    pub meanwhile: Vec<ThreadsMeanwhile>,
}

/// A step of an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestStep {
    /// When it begins after the operation's intended start, microseconds.
    pub from_us: f64,
    /// How long it takes, microseconds.
    pub us: f64,
    /// What it is, as in `parts[].part`.
    pub part: String,
    /// The server's thread; empty where none has it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thread: String,
    /// The functions of the program that wait, innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<String>,
    /// Whether its own stack was not taken, and what it waits for is that of similar waits.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_likely: bool,
    /// Who ended it, in words; empty where nobody knows.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub woken_by: String,
}

/// What the threads of one name did while an operation was in hand: the mean number of them in each state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreadsMeanwhile {
    /// Their name.
    pub threads: String,
    /// On a CPU.
    pub on_cpu: f64,
    /// Waiting for a CPU.
    pub runnable: f64,
    /// Blocked within an operation.
    pub blocked: f64,
    /// Waiting for work.
    pub idle: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
pub(super) fn is_false(value: &bool) -> bool {
    !value
}

impl RequestStep {
    /// What it is, with its place: `blocked: lock in commit ← handle`.
    pub fn in_words(&self) -> String {
        if self.functions.is_empty() {
            return self.part.clone();
        }
        let likely = if self.is_likely { ", as similar waits" } else { "" };
        format!("{} in {}{likely}", self.part, self.functions.join(" ← "))
    }
}

impl SlowRequests {
    /// The circumstances in words: how it was seen, and what it cost.
    pub fn basis(&self) -> String {
        let parts = [
            Some(self.level.clone()),
            self.throughput_ratio
                .map(|ratio| format!("throughput while watching {:.0} % of that without", ratio * 100.0)),
            self.stopped_after_s.map(|seconds| format!("the first {seconds:.1} s of the slice were watched")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_has_words() {
        let mut step = RequestStep {
            from_us: 0.0,
            us: 1.0,
            part: "blocked: lock".to_owned(),
            thread: String::new(),
            functions: vec!["commit".to_owned(), "handle".to_owned()],
            is_likely: false,
            woken_by: String::new(),
        };
        assert_eq!(step.in_words(), "blocked: lock in commit ← handle");
        step.is_likely = true;
        assert_eq!(step.in_words(), "blocked: lock in commit ← handle, as similar waits");
        step.functions.clear();
        assert_eq!(step.in_words(), "blocked: lock");
    }
}
