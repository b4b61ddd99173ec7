//! Parses the lines of a runner, and renders the line that starts it.
//!
//! Each line of a runner is a JSON object. Its first field names its kind: `runner`, `interval` or `stopped`. Lines to the
//! runner are plain words, so that a runner in C or a shell needs no JSON parser.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use hdrhistogram::serialization::Deserializer;
use serde::Deserialize;

use super::error::{InvalidLine, RunnerError};
use crate::record::{ErrorKind, Interval, LONGEST_US, Micros, micros};

/// The version of the protocol.
pub const VERSION: u64 = 1;

/// Longest part of an invalid line that an error shows.
const SHOWN_CHARACTERS: usize = 60;

/// A message of a runner.
#[derive(Debug)]
pub enum RunnerMessage {
    /// It is ready to start.
    Ready,
    /// The operations that ended in an interval.
    Interval {
        /// The number of the interval, from 0.
        index: u64,
        /// The recorded values.
        stats: Box<Interval>,
    },
    /// It has stopped and is ready again.
    Stopped {
        /// For how long it began operations.
        after: Duration,
        /// The operations that ended after that.
        stats: Box<Interval>,
    },
}

/// A line as the runner writes it. One struct for all kinds, because serde's errors for untagged enums have no detail.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRunnerLine {
    runner: Option<u64>,
    interval: Option<u64>,
    stopped: Option<f64>,
    #[serde(default)]
    operations: BTreeMap<String, RawOperation>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawOperation {
    /// Microseconds as Base64 of the encoding V2 of the `HdrHistogram` libraries, compressed or not.
    histogram: Option<String>,
    /// The same as pairs: microseconds, and the number of operations.
    #[serde(default)]
    values_us: Vec<(u64, u64)>,
    /// Bytes of the operations that succeeded.
    #[serde(default)]
    bytes: u64,
    /// Numbers of failed operations by error message.
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

/// Parses a line of a runner with these operations.
pub fn parse_line(line: &str, operations: &[(String, f64)]) -> Result<RunnerMessage, RunnerError> {
    let shown = || line.chars().take(SHOWN_CHARACTERS).collect();
    let invalid = |reason: InvalidLine| RunnerError::InvalidLine { line: shown(), reason };
    let raw: RawRunnerLine = serde_json::from_str(line).map_err(|e| invalid(e.into()))?;
    let stats = || interval_of(&raw.operations, operations).map_err(invalid);
    match (raw.runner, raw.interval, raw.stopped) {
        (Some(VERSION), None, None) => Ok(RunnerMessage::Ready),
        (Some(version), None, None) => Err(RunnerError::Version { runner: version, showdown: VERSION }),
        (None, Some(index), None) => Ok(RunnerMessage::Interval { index, stats: stats()? }),
        (None, None, Some(seconds)) => match Duration::try_from_secs_f64(seconds) {
            Ok(after) => Ok(RunnerMessage::Stopped { after, stats: stats()? }),
            Err(_) => Err(invalid(InvalidLine::Time(seconds))),
        },
        _ => Err(invalid(InvalidLine::Kind)),
    }
}

fn interval_of(
    reported: &BTreeMap<String, RawOperation>,
    operations: &[(String, f64)],
) -> Result<Box<Interval>, InvalidLine> {
    let mut interval = Interval::new(operations.len(), 0);
    for (name, raw) in reported {
        let Some(at) = operations.iter().position(|(known, _)| known == name) else {
            let known = operations.iter().map(|(known, _)| known.clone()).collect();
            return Err(InvalidLine::Operation { name: name.clone(), known });
        };
        let operation = &mut interval.operations[at];
        operation.response_time = times_of(name, raw)?;
        // In a closed loop the intended start is the actual one.
        operation.service_time = operation.response_time.clone();
        operation.server_time = operation.response_time.clone();
        operation.bytes_received = raw.bytes;
        for (what, &count) in &raw.errors {
            operation.errors.add(ErrorKind::Reported, count, what);
        }
        // The runner took the times itself.
        interval.client.unstamped += operation.response_time.len();
        interval.client.offered += operation.response_time.len() + operation.errors.total();
    }
    Ok(Box::new(interval))
}

/// All times of an operation in the engine's precision: three digits, an hour at most.
fn times_of(name: &str, raw: &RawOperation) -> Result<Micros, InvalidLine> {
    let mut times = micros();
    let mut add = |us: u64, count: u64| {
        times.record_n(us.min(LONGEST_US), count).expect("an auto-resizing histogram takes an hour");
    };
    if let Some(text) = &raw.histogram {
        let bytes =
            STANDARD.decode(text).map_err(|source| InvalidLine::Base64 { name: name.to_owned(), source })?;
        let histogram: Micros = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|e| InvalidLine::Histogram { name: name.to_owned(), reason: e.to_string() })?;
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
        parse_line(line, &mix()).expect_err(line).to_string()
    }

    #[test]
    fn the_start_line_has_interval_seed_and_mix() {
        assert_eq!(start_line(Duration::from_millis(100), 42, &mix()), "start 100 42 read=9 update=0.5");
    }

    #[test]
    fn values_and_histograms_give_the_same_interval() -> Result<(), Box<dyn std::error::Error>> {
        let mut histogram = micros();
        histogram.record_n(120, 3)?;
        histogram.record_n(70_000, 1)?;
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&histogram, &mut bytes)?;
        let encoded = STANDARD.encode(&bytes);
        assert!(encoded.starts_with("HIST"), "as all libraries begin it");
        for times in
            [format!(r#""histogram": "{encoded}""#), r#""values_us": [[120, 3], [70000, 1]]"#.to_owned()]
        {
            let rest = r#""bytes": 4096, "errors": {"disk full": 2}"#;
            let line = format!(r#"{{"interval": 4, "operations": {{"update": {{{times}, {rest}}}}}}}"#);
            let RunnerMessage::Interval { index: 4, stats } = parse_line(&line, &mix())? else {
                panic!("{line}")
            };
            assert_eq!(stats.operations[1].response_time, histogram);
            assert_eq!((stats.succeeded(), stats.client.offered), (4, 6));
            assert_eq!(stats.operations[1].bytes_received, 4096);
            assert_eq!(stats.errors().examples[&ErrorKind::Reported], "disk full");
        }
        Ok(())
    }

    #[test]
    fn an_interval_may_be_empty_and_a_stop_may_have_operations() -> Result<(), RunnerError> {
        assert!(matches!(
            parse_line(r#"{"interval": 0}"#, &mix())?,
            RunnerMessage::Interval { index: 0, .. }
        ));
        let stopped =
            parse_line(r#"{"stopped": 2.5, "operations": {"read": {"values_us": [[7, 1]]}}}"#, &mix())?;
        let RunnerMessage::Stopped { after, stats } = stopped else { panic!("{stopped:?}") };
        assert_eq!((after, stats.succeeded()), (Duration::from_millis(2_500), 1));
        Ok(())
    }

    #[test]
    fn an_invalid_line_is_refused_with_its_reason() {
        assert!(refused("hello").starts_with(r#"the runner printed "hello", which is not of the protocol"#));
        assert_eq!(
            refused(r#"{"runner": 2}"#),
            "the runner uses version 2 of the protocol, this showdown uses version 1"
        );
        assert!(
            refused(r#"{"interval": 0, "operations": {"wirte": {}}}"#)
                .contains(r#"where "wirte" is no operation of this run, which has read, update"#)
        );
        for (line, reason) in [
            ("{}", "which does not have exactly one of runner, interval and stopped"),
            (r#"{"interval": 1, "stopped": 1}"#, "which does not have exactly one of"),
            (r#"{"interval": -1}"#, "invalid value"),
            (r#"{"stopped": -1}"#, "where -1 is not a time"),
            (r#"{"interval": 0, "operations": {"read": {"values": []}}}"#, "unknown field `values`"),
            (
                r#"{"interval": 0, "operations": {"read": {"histogram": "HIST%"}}}"#,
                "the histogram of \"read\" is not Base64",
            ),
            (r#"{"interval": 0, "operations": {"read": {"histogram": "AAAA"}}}"#, "is not an HdrHistogram"),
        ] {
            let error = refused(line);
            assert!(error.contains(reason), "{line}: {error}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_lines_are_handled(line in r#"(\{"(interval|stopped|runner)": ?|[-0-9e.]+|"operations": ?|\{"read": ?|\{"values_us": ?\[\[|[0-9]+, ?|\]|\}|"histogram": ?"HIST[a-zA-Z0-9+/]*"|.)*"#) {
            let _ = parse_line(&line, &mix());
        }
    }
}
