//! The lines of a runner: bytes made into what they say, or why they say nothing.
//!
//! One JSON object a line, told apart by its first field: `runner`, `interval` or `stopped`. What goes to the runner
//! are plain words, so that one in C or a shell needs no JSON parser.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use hdrhistogram::serialization::Deserializer;
use serde::Deserialize;

use super::RunnerError;
use crate::record::{ErrorKind, Interval, LONGEST_US, Micros, micros};

/// The version of the protocol that is spoken here.
pub const VERSION: u64 = 1;

/// As much of a wrong line as an error shows.
const SHOWN_CHARACTERS: usize = 60;

/// What a runner says.
#[derive(Debug)]
pub enum RunnerMessage {
    /// It is ready to be started.
    Ready,
    /// What ended in an interval.
    Interval {
        /// Which, from 0.
        index: u64,
        /// What was recorded.
        stats: Box<Interval>,
    },
    /// It has stopped and is ready again.
    Stopped {
        /// How long it began operations.
        after: Duration,
        /// What ended after that.
        stats: Box<Interval>,
    },
}

/// A line as written. One struct for all, because serde's errors for untagged enums say nothing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLine {
    runner: Option<u64>,
    interval: Option<u64>,
    stopped: Option<f64>,
    #[serde(default)]
    operations: BTreeMap<String, RawOperation>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawOperation {
    /// Base64 of what the `HdrHistogram` libraries call V2, compressed or not; microseconds.
    histogram: Option<String>,
    /// The same in plain words: how many took so many microseconds.
    #[serde(default)]
    values_us: Vec<(u64, u64)>,
    /// Bytes that those which ended well have moved.
    #[serde(default)]
    bytes: u64,
    /// How many failed, by what is to be said of them.
    #[serde(default)]
    errors: BTreeMap<String, u64>,
}

/// The line that starts a run.
pub fn start_line(interval: Duration, seed: u64, mix: &[(String, f64)]) -> String {
    let mut line = format!("start {} {seed}", interval.as_millis());
    for (name, weight) in mix {
        write!(line, " {name}={weight}").expect("writing to memory does not fail");
    }
    line
}

/// Reads a line of a runner whose operations are these.
pub fn read(line: &str, operations: &[(String, f64)]) -> Result<RunnerMessage, RunnerError> {
    let shown = || line.chars().take(SHOWN_CHARACTERS).collect();
    let wrong = |why: String| RunnerError::RunnerMessage { line: shown(), why };
    let raw: RawLine =
        serde_json::from_str(line).map_err(|e| wrong(format!("which is not of the protocol ({e})")))?;
    let stats = || interval_of(&raw.operations, operations).map_err(wrong);
    match (raw.runner, raw.interval, raw.stopped) {
        (Some(VERSION), None, None) => Ok(RunnerMessage::Ready),
        (Some(version), None, None) => Err(RunnerError::Version(version)),
        (None, Some(index), None) => Ok(RunnerMessage::Interval { index, stats: stats()? }),
        (None, None, Some(seconds)) => match Duration::try_from_secs_f64(seconds) {
            Ok(after) => Ok(RunnerMessage::Stopped { after, stats: stats()? }),
            Err(_) => Err(wrong(format!("where {seconds} is no time"))),
        },
        _ => Err(wrong("which has not one of runner, interval and stopped".to_owned())),
    }
}

fn interval_of(
    said: &BTreeMap<String, RawOperation>,
    operations: &[(String, f64)],
) -> Result<Box<Interval>, String> {
    let mut interval = Interval::new(operations.len(), 0);
    for (name, raw) in said {
        let Some(at) = operations.iter().position(|(known, _)| known == name) else {
            let known: Vec<&str> = operations.iter().map(|(known, _)| known.as_str()).collect();
            return Err(format!(
                "where {name:?} is no operation of this run, which has {}",
                known.join(", ")
            ));
        };
        let operation = &mut interval.operations[at];
        operation.response_time =
            times_of(raw).map_err(|why| format!("where the times of {name:?} {why}"))?;
        // A closed loop sends when it intends to.
        operation.service_time = operation.response_time.clone();
        operation.bytes_received = raw.bytes;
        for (what, &count) in &raw.errors {
            operation.errors.add(ErrorKind::Reported, count, what);
        }
        interval.client.offered += operation.response_time.len() + operation.errors.total();
    }
    Ok(Box::new(interval))
}

/// All times of an operation, as we hold them: three digits, an hour at most.
fn times_of(raw: &RawOperation) -> Result<Micros, String> {
    let mut times = micros();
    let mut add = |us: u64, count: u64| {
        times.record_n(us.min(LONGEST_US), count).expect("an auto-resizing histogram takes an hour");
    };
    if let Some(text) = &raw.histogram {
        let bytes = STANDARD.decode(text).map_err(|e| format!("are no base64: {e}"))?;
        let histogram: Micros = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|e| format!("are no HdrHistogram in its encoding V2: {e}"))?;
        for step in histogram.iter_recorded() {
            add(step.value_iterated_to(), step.count_at_value());
        }
    }
    raw.values_us.iter().for_each(|&(us, count)| add(us, count));
    Ok(times)
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
    use proptest::prelude::*;

    use super::*;

    fn mix() -> Vec<(String, f64)> {
        vec![("read".to_owned(), 9.0), ("update".to_owned(), 0.5)]
    }

    fn refused(line: &str) -> String {
        read(line, &mix()).expect_err(line).to_string()
    }

    #[test]
    fn a_run_is_started_with_its_interval_its_seed_and_its_mix() {
        assert_eq!(start_line(Duration::from_millis(100), 42, &mix()), "start 100 42 read=9 update=0.5");
    }

    #[test]
    fn values_and_histograms_say_the_same() -> Result<(), Box<dyn std::error::Error>> {
        let mut histogram = micros();
        histogram.record_n(120, 3)?;
        histogram.record_n(70_000, 1)?;
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&histogram, &mut bytes)?;
        let encoded = STANDARD.encode(&bytes);
        assert!(encoded.starts_with("HIST"), "as all libraries write it");
        for times in
            [format!(r#""histogram": "{encoded}""#), r#""values_us": [[120, 3], [70000, 1]]"#.to_owned()]
        {
            let rest = r#""bytes": 4096, "errors": {"disk full": 2}"#;
            let line = format!(r#"{{"interval": 4, "operations": {{"update": {{{times}, {rest}}}}}}}"#);
            let RunnerMessage::Interval { index: 4, stats } = read(&line, &mix())? else { panic!("{line}") };
            assert_eq!(stats.operations[1].response_time, histogram);
            assert_eq!((stats.succeeded(), stats.client.offered), (4, 6));
            assert_eq!(stats.operations[1].bytes_received, 4096);
            assert_eq!(stats.errors().examples[&ErrorKind::Reported], "disk full");
        }
        Ok(())
    }

    #[test]
    fn an_empty_interval_is_one_and_a_stop_may_carry_the_rest() -> Result<(), RunnerError> {
        assert!(matches!(read(r#"{"interval": 0}"#, &mix())?, RunnerMessage::Interval { index: 0, .. }));
        let stopped = read(r#"{"stopped": 2.5, "operations": {"read": {"values_us": [[7, 1]]}}}"#, &mix())?;
        let RunnerMessage::Stopped { after, stats } = stopped else { panic!("{stopped:?}") };
        assert_eq!((after, stats.succeeded()), (Duration::from_millis(2_500), 1));
        Ok(())
    }

    #[test]
    fn what_is_wrong_with_a_line_is_said() {
        assert!(refused("hello").starts_with(r#"the runner printed "hello", which is not of the protocol"#));
        assert_eq!(
            refused(r#"{"runner": 2}"#),
            "the runner speaks version 2 of the protocol, this showdown speaks version 1"
        );
        assert!(
            refused(r#"{"interval": 0, "operations": {"wirte": {}}}"#)
                .contains(r#"where "wirte" is no operation of this run, which has read, update"#)
        );
        for (line, why) in [
            ("{}", "which has not one of runner, interval and stopped"),
            (r#"{"interval": 1, "stopped": 1}"#, "which has not one of"),
            (r#"{"interval": -1}"#, "invalid value"),
            (r#"{"stopped": -1}"#, "where -1 is no time"),
            (r#"{"interval": 0, "operations": {"read": {"values": []}}}"#, "unknown field `values`"),
            (
                r#"{"interval": 0, "operations": {"read": {"histogram": "HIST%"}}}"#,
                "the times of \"read\" are no base64",
            ),
            (r#"{"interval": 0, "operations": {"read": {"histogram": "AAAA"}}}"#, "are no HdrHistogram"),
        ] {
            let said = refused(line);
            assert!(said.contains(why), "{line}: {said}");
        }
    }

    proptest! {
        #[test]
        fn no_line_is_too_strange(line in r#"(\{"(interval|stopped|runner)": ?|[-0-9e.]+|"operations": ?|\{"read": ?|\{"values_us": ?\[\[|[0-9]+, ?|\]|\}|"histogram": ?"HIST[a-zA-Z0-9+/]*"|.)*"#) {
            let _ = read(&line, &mix());
        }
    }
}
