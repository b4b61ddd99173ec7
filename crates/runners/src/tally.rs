//! What ended in an interval, as threads gather it and as it is told.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use serde_json::{Map, Value, json};

/// Longest time told apart: an hour.
const LONGEST_US: u32 = 3_600_000_000;

/// What one thread ended in an interval: raw times, since pushing one is cheaper than finding its bucket, and the
/// buckets are made by a thread that measures nothing.
#[derive(Debug, Default, PartialEq)]
pub struct Tally {
    /// By operation: microseconds.
    pub times_us: Vec<Vec<u32>>,
    /// By operation: failures by what is to be said of them.
    pub errors: Vec<BTreeMap<String, u64>>,
}

impl Tally {
    /// Nothing yet.
    pub fn new(operations: usize) -> Self {
        Self { times_us: vec![Vec::new(); operations], errors: vec![BTreeMap::new(); operations] }
    }

    /// An operation ended well.
    pub fn succeeded(&mut self, operation: usize, took_us: u32) {
        self.times_us[operation].push(took_us);
    }

    /// An operation failed.
    pub fn failed(&mut self, operation: usize, what: String) {
        *self.errors[operation].entry(what).or_default() += 1;
    }

    /// Adds what another thread ended.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.times_us.iter_mut().zip(&other.times_us) {
            mine.extend_from_slice(theirs);
        }
        for (mine, theirs) in self.errors.iter_mut().zip(&other.errors) {
            for (what, count) in theirs {
                *mine.entry(what.clone()).or_default() += count;
            }
        }
    }

    /// The object `operations` of a line, where each has moved so many bytes; 0 is not told.
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
    let mut histogram = Histogram::<u64>::new(3).expect("three digits are within 0 to 5");
    for &us in times_us {
        histogram.record(us.min(LONGEST_US).into()).expect("an auto-resizing histogram takes an hour");
    }
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(&histogram, &mut bytes).expect("writing to memory does not fail");
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_happened_is_told() {
        let names = ["read".to_owned(), "update".to_owned()];
        let mut tally = Tally::new(2);
        assert_eq!(tally.to_json(&names, 0), json!({}));
        tally.succeeded(0, 120);
        let mut other = Tally::new(2);
        other.failed(1, "disk full".to_owned());
        tally.add(&other);
        tally.add(&other);
        assert_eq!(tally.to_json(&names, 512)["read"]["bytes"], 512);
        let told = tally.to_json(&names, 0);
        assert!(told["read"]["histogram"].as_str().is_some_and(|text| text.starts_with("HISTF")), "{told}");
        assert_eq!(told["update"], json!({"errors": {"disk full": 2}}));
    }
}
