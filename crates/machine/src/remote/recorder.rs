//! A recording on another machine. Its begin is on the clock of this process, by the offset between the two clocks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use host::telemetry::Recording;
use load::client::ClientClock;
use load::clock::Nanos;

use super::asked::{Asked, SHORT};
use crate::clock::ClockOffset;
use crate::error::MachineError;
use crate::machine::Recorder;
use crate::protocol::servers::{EndRecording, ReadSamples, RecordingBegan, RecordingHead};

/// A recording that goes on over there. If this is dropped, it ends with its agent.
pub(super) struct RemoteRecorder {
    asked: Arc<Asked>,
    recording: u64,
    began: Instant,
}

impl RemoteRecorder {
    pub fn new(asked: Arc<Asked>, began: RecordingBegan, offset: ClockOffset) -> Self {
        let here = ClientClock::from(offset).here(began.at);
        Self { asked, recording: began.recording, began: instant(here.0, Nanos::now().0, Instant::now()) }
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
        let RecordingHead { columns, samples: count, others, cost } =
            self.asked.ask(EndRecording { recording }, SHORT)?;
        let mut samples = Vec::new();
        while samples.len() < count {
            let part = self.asked.ask(ReadSamples { recording, from: samples.len() }, SHORT)?;
            if part.is_empty() {
                let why = format!("{} of {count} samples of a recording", samples.len());
                return Err(MachineError::Protocol { host: self.asked.host.clone(), why });
            }
            samples.extend(part);
        }
        Ok(Recording { columns, samples, others, cost })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_the_clock_is_as_long_ago_as_the_clock_says() {
        let then = Instant::now();
        let now = then + Duration::from_micros(5);
        assert_eq!(instant(4_000, 9_000, now), then);
        assert_eq!(instant(14_000, 9_000, then), now, "within the error of the offset");
    }
}
