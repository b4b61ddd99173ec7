//! Part of `explanation.json`: where the threads of a server wait, for what, and who ends it.

use serde::{Deserialize, Serialize};

/// Where the time of a server's threads goes off the CPU, from a slice of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitProfile {
    /// The folded stacks with one sample for each microsecond, relative to the run directory.
    pub folded: String,
    /// Operations in the time in which its threads were watched.
    pub operations: f64,
    /// How long they were watched, seconds.
    pub length_s: f64,
    /// Watching ended by itself after this time, because it used too much CPU time, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_after_s: Option<f64>,
    /// Waits whose stack was read.
    pub sampled: u64,
    /// Records of the kernel that were lost.
    pub lost: u64,
    /// What could be seen here, in words.
    pub level: String,
    /// Throughput of the watched slice over that of the plain one beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput_ratio: Option<f64>,
    /// What threads wait for within operations, the longest first.
    pub kinds: Vec<WaitKindTime>,
    /// Time an operation in which all threads together waited for work, microseconds.
    pub idle_us: f64,
    /// Where threads wait: within operations first, the longest first.
    pub places: Vec<WaitPlace>,
}

/// What threads wait for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitKindTime {
    /// For what, such as `lock`.
    pub kind: String,
    /// Time an operation, all threads together, microseconds.
    pub us: f64,
    /// How often an operation; none where waits cannot be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<f64>,
}

/// A place in a program at which threads wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitPlace {
    /// For what, such as `lock`.
    pub kind: String,
    /// Whether it is a lock.
    pub is_lock: bool,
    /// Whether for work, outside of any operation.
    pub is_idle: bool,
    /// The functions of the program that wait, innermost first; those of the C library are omitted.
    pub functions: Vec<String>,
    /// The names of the threads.
    pub threads: Vec<String>,
    /// Time an operation, all threads together, microseconds.
    pub us: f64,
    /// How often an operation; none where waits cannot be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<f64>,
    /// Who ended the waits, the most frequent first, as far as it was seen. Of a lock, its holder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wakers: Vec<WaitWaker>,
}

/// Who ends waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitWaker {
    /// A thread of the server by its name, `another program: NAME`, or `an interrupt`.
    pub who: String,
    /// Its functions, innermost first; none but of the server's threads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<String>,
    /// Its share of the wakes that were seen, 0 to 1.
    pub share: f64,
}

impl WaitPlace {
    /// The functions in words: `lock ← handle ← main`.
    pub fn place(&self) -> String {
        if self.functions.is_empty() { "stack not read".to_owned() } else { in_words(&self.functions) }
    }

    /// Who ends it most often, with its functions; empty where nobody knows.
    pub fn woken_by(&self) -> String {
        self.wakers.first().map(WaitWaker::in_words).unwrap_or_default()
    }
}

impl WaitWaker {
    /// Who it is, with its functions.
    pub fn in_words(&self) -> String {
        match in_words(&self.functions) {
            place if place.is_empty() => self.who.clone(),
            place => format!("{}: {place}", self.who),
        }
    }
}

impl WaitProfile {
    /// Locks, the longest waits first.
    pub fn locks(&self) -> impl Iterator<Item = &WaitPlace> {
        self.places.iter().filter(|place| place.is_lock && !place.is_idle)
    }

    /// Time an operation within operations, all threads together, microseconds.
    pub fn blocked_us(&self) -> f64 {
        self.kinds.iter().map(|kind| kind.us).sum()
    }

    /// The circumstances in words: how it was seen, and what it cost.
    pub fn basis(&self) -> String {
        let parts = [
            Some(self.level.clone()),
            self.throughput_ratio
                .map(|ratio| format!("throughput while watching {:.0} % of that without", ratio * 100.0)),
            self.stopped_after_s.map(|seconds| {
                format!("watching ended by itself after {seconds:.1} s, because it used too much CPU time")
            }),
            (self.lost > 0).then(|| format!("{} records lost", super::thousands(self.lost as f64))),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

fn in_words(functions: &[String]) -> String {
    functions.join(" ← ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_wakers_have_words() {
        let functions = vec!["wait".to_owned(), "main".to_owned()];
        let mut place = WaitPlace {
            kind: "lock".to_owned(),
            is_lock: true,
            is_idle: false,
            functions: functions.clone(),
            threads: vec!["worker".to_owned()],
            us: 3.0,
            waits: None,
            wakers: Vec::new(),
        };
        assert_eq!((place.place().as_str(), place.woken_by().as_str()), ("wait ← main", ""));
        place.wakers.push(WaitWaker { who: "worker".to_owned(), functions, share: 0.9 });
        assert_eq!(place.woken_by(), "worker: wait ← main");
    }
}
