//! Completed operations: collected by the threads, and printed as JSON with histograms.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use serde_json::{Map, Value, json};

/// Longer times are recorded as this: an hour.
const LONGEST_US: u32 = 3_600_000_000;

/// The operations that a thread completed in an interval. It stores raw times: appending one is cheaper than finding
/// its histogram bucket, and a thread that does not measure builds the histogram.
#[derive(Debug, Default, PartialEq)]
pub struct CompletedOperations {
    /// By operation: the times in microseconds.
    pub times_us: Vec<Vec<u32>>,
    /// By operation: the number of failures by error message.
    pub errors: Vec<BTreeMap<String, u64>>,
}

impl CompletedOperations {
    /// No operations yet.
    pub fn new(operations: usize) -> Self {
        Self { times_us: vec![Vec::new(); operations], errors: vec![BTreeMap::new(); operations] }
    }

    /// Records a successful operation.
    pub fn succeeded(&mut self, operation: usize, took_us: u32) {
        self.times_us[operation].push(took_us);
    }

    /// Records a failed operation.
    pub fn failed(&mut self, operation: usize, message: String) {
        *self.errors[operation].entry(message).or_default() += 1;
    }

    /// Adds the operations of another thread.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.times_us.iter_mut().zip(&other.times_us) {
            mine.extend_from_slice(theirs);
        }
        for (mine, theirs) in self.errors.iter_mut().zip(&other.errors) {
            for (message, count) in theirs {
                *mine.entry(message.clone()).or_default() += count;
            }
        }
    }

    /// The object `operations` of a line. Each operation moved `bytes_each` bytes; 0 means that bytes are not reported.
    pub fn to_json(&self, names: &[String], bytes_each: u64) -> Value {
        let mut operations = Map::new();
        for ((name, times), errors) in names.iter().zip(&self.times_us).zip(&self.errors) {
            let mut operation = Map::new();
            if !times.is_empty() {
                operation.insert("histogram".to_owned(), encode(times).into());
                if bytes_each > 0 {
                    operation.insert("bytes".to_owned(), (bytes_each * times.len() as u64).into());
                }
            }
            if !errors.is_empty() {
                operation.insert("errors".to_owned(), json!(errors));
            }
            if !operation.is_empty() {
                operations.insert(name.clone(), operation.into());
            }
        }
        operations.into()
    }
}

fn encode(times_us: &[u32]) -> String {
    let mut histogram = Histogram::<u64>::new(3).expect("three significant digits are valid");
    for &us in times_us {
        histogram.record(us.min(LONGEST_US).into()).expect("an auto-resizing histogram accepts an hour");
    }
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(&histogram, &mut bytes).expect("writing to memory does not fail");
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_completed_operations_are_reported() {
        let names = ["read".to_owned(), "update".to_owned()];
        let mut completed = CompletedOperations::new(2);
        assert_eq!(completed.to_json(&names, 0), json!({}));
        completed.succeeded(0, 120);
        let mut other = CompletedOperations::new(2);
        other.failed(1, "disk full".to_owned());
        completed.add(&other);
        completed.add(&other);
        assert_eq!(completed.to_json(&names, 512)["read"]["bytes"], 512);
        let reported = completed.to_json(&names, 0);
        assert!(
            reported["read"]["histogram"].as_str().is_some_and(|text| text.starts_with("HISTF")),
            "{reported}"
        );
        assert_eq!(reported["update"], json!({"errors": {"disk full": 2}}));
    }
}
