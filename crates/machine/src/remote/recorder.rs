//! A recording on another machine. Its begin is on the clock of this process, by the offset between the two clocks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use host::telemetry::{Recording, TelemetrySample};
use load::clock::ClientClock;
use load::clock::Nanos;

use super::agent_client::{AgentClient, LONGEST_ANSWER};
use super::limits::{LONGEST_NAME, MORE_SAMPLES, MOST_COLUMNS, MOST_VALUES};
use crate::clock::ClockOffset;
use crate::errors::machine::MachineError;
use crate::interface::machine::Recorder;
use crate::protocol::servers::{EndRecording, ReadSamples, RecordingBegan, RecordingHead};

/// A recording that goes on over there. If this is dropped, it ends with its agent.
pub(super) struct RemoteRecorder {
    agent: Arc<AgentClient>,
    recording: u64,
    began: Instant,
    /// When it was ordered, on this side's clock.
    ordered: Instant,
    period: Duration,
}

impl RemoteRecorder {
    /// A recording that was ordered at this instant, with samples once a period.
    pub fn new(
        agent: Arc<AgentClient>,
        began: RecordingBegan,
        offset: ClockOffset,
        (ordered, period): (Instant, Duration),
    ) -> Self {
        let here = ClientClock::from(offset).here(began.at);
        let began_at = instant(here.0, Nanos::now().0, Instant::now());
        Self { agent, recording: began.recording, began: began_at, ordered, period }
    }
}

/// What is wrong with the head of a recording that has taken no longer than this.
fn check_head(head: &RecordingHead, taken: Duration, period: Duration) -> Result<(), String> {
    let most = taken.div_duration_f64(period.max(Duration::from_millis(1))) as u64 + MORE_SAMPLES;
    let (samples, columns) = (head.samples as u64, head.columns.len());
    if samples > most {
        return Err(format!("{samples} samples where {most} at most were asked for"));
    }
    if columns > MOST_COLUMNS || samples * columns as u64 > MOST_VALUES {
        return Err(format!("{samples} samples of {columns} values"));
    }
    let is_name = |name: &str| name.len() <= LONGEST_NAME && !name.chars().any(char::is_control);
    match head.columns.iter().find(|column| !is_name(&column.name)) {
        Some(_) => Err("a column whose name is too long or no name".to_owned()),
        None => Ok(()),
    }
}

/// What is wrong with samples of a recording with this number of columns, of which this many are left to read.
fn check_samples(samples: &[TelemetrySample], columns: usize, left: usize) -> Result<(), String> {
    if samples.is_empty() || samples.len() > left {
        return Err(format!("{} samples of a recording where {left} are left", samples.len()));
    }
    match samples.iter().find(|sample| sample.values.len() != columns) {
        Some(sample) => Err(format!("a sample of {} values for {columns} columns", sample.values.len())),
        None => Ok(()),
    }
}

/// The instant of a time of this machine's monotonic clock.
fn instant(ns: u64, now_ns: u64, now: Instant) -> Instant {
    let ago = Duration::from_nanos(now_ns.saturating_sub(ns));
    let ahead = Duration::from_nanos(ns.saturating_sub(now_ns));
    now.checked_sub(ago).unwrap_or(now) + ahead
}

impl Recorder for RemoteRecorder {
    fn began(&self) -> Instant {
        self.began
    }

    fn stop(self: Box<Self>) -> Result<Recording, MachineError> {
        let recording = self.recording;
        let protocol_error = |why| MachineError::Protocol { host: self.agent.host.clone(), why };
        let head = self.agent.call(EndRecording { recording }, LONGEST_ANSWER)?;
        check_head(&head, self.ordered.elapsed(), self.period).map_err(protocol_error)?;
        let RecordingHead { columns, samples: count, others, cost } = head;
        let mut samples = Vec::new();
        while samples.len() < count {
            let part = self.agent.call(ReadSamples { recording, from: samples.len() }, LONGEST_ANSWER)?;
            check_samples(&part, columns.len(), count - samples.len()).map_err(protocol_error)?;
            samples.extend(part);
        }
        Ok(Recording { columns, samples, others, cost })
    }
}

#[cfg(test)]
mod tests {
    use host::telemetry::TelemetryColumn;

    use super::*;

    #[test]
    fn a_recording_has_no_more_samples_than_its_time() {
        let head = |samples: usize, names: &[&str]| RecordingHead {
            columns: names
                .iter()
                .map(|name| TelemetryColumn { name: (*name).to_owned(), unit: "1".into(), help: "".into() })
                .collect(),
            samples,
            others: Vec::new(),
            cost: Duration::ZERO,
        };
        let check = |head| check_head(&head, Duration::from_secs(10), Duration::from_millis(100));
        assert_eq!(check(head(101, &["cpu.user"])), Ok(()));
        assert!(check(head(1 << 60, &["cpu.user"])).is_err_and(|why| why.contains("200 at most")));
        assert!(check(head(201, &[])).is_err());
        assert!(check(head(1, &["cpu\n.user"])).is_err());
        assert!(check(head(1, &["x".repeat(400).as_str()])).is_err());
        let wide = vec!["cpu.user"; 60_000];
        assert!(check(head(1, &wide)).is_err());
        assert!(check_head(&head(10, &[]), Duration::ZERO, Duration::ZERO).is_ok(), "no division by zero");
    }

    #[test]
    fn a_sample_has_a_value_for_each_column() {
        let sample = |values: usize| TelemetrySample { t_us: 1, unix_ms: 2, values: vec![None; values] };
        assert_eq!(check_samples(&[sample(2), sample(2)], 2, 2), Ok(()));
        for (samples, left) in [(vec![], 3), (vec![sample(2); 4], 3), (vec![sample(1 << 20)], 3)] {
            assert!(check_samples(&samples, 2, left).is_err());
        }
    }

    #[test]
    fn a_time_of_the_clock_is_as_long_ago_as_the_clock_says() {
        let then = Instant::now();
        let now = then + Duration::from_micros(5);
        assert_eq!(instant(4_000, 9_000, now), then);
        assert_eq!(instant(14_000, 9_000, then), now, "within the error of the offset");
    }
}
