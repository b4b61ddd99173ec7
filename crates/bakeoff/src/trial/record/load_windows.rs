//! When a trial was loaded and measured, on the time line of each recording.

use std::time::{Duration, Instant};

use archive::model::{PhaseKind, TrialPhase};

use super::recorders::MachineRecording;

/// The times of a trial's load, from the trial's begin.
pub struct LoadWindows<'a> {
    /// When the trial began.
    pub trial_began: Instant,
    /// Its phases.
    pub phases: &'a [TrialPhase],
    /// Begin and end of the slices that gave the value, where there were slices.
    pub loaded: Option<(Duration, Duration)>,
    /// When the load ended.
    pub ended: Instant,
}

/// Begin and end on the time line of a recording, microseconds.
pub type WindowUs = (u64, u64);

impl LoadWindows<'_> {
    /// The whole load, and the part that gave the value.
    pub fn on(&self, recorded: &MachineRecording) -> (WindowUs, WindowUs) {
        let timeline = RecordingTime { trial_began: self.trial_began, recording_began: recorded.began };
        let first = self.phases.iter().map(|phase| phase.start_s).fold(f64::INFINITY, f64::min);
        let from = Duration::try_from_secs_f64(first).unwrap_or_default();
        let whole = (timeline.us(from), timeline.us(self.ended.duration_since(self.trial_began)));
        let measured = match self.loaded {
            Some((begin, end)) => (timeline.us(begin), timeline.us(end)),
            None => measured_window(self.phases, whole, timeline),
        };
        (whole, measured)
    }
}

/// Turns times of a trial into times of a recording.
#[derive(Clone, Copy)]
struct RecordingTime {
    trial_began: Instant,
    recording_began: Instant,
}

impl RecordingTime {
    /// Microseconds from the begin of the recording, 0 for what was before it.
    fn us(self, since_trial_began: Duration) -> u64 {
        (self.trial_began + since_trial_began).saturating_duration_since(self.recording_began).as_micros()
            as u64
    }
}

/// The window of the recording in which the value was measured; the whole load where that is too short for two samples.
fn measured_window(phases: &[TrialPhase], whole: (u64, u64), timeline: RecordingTime) -> (u64, u64) {
    const SHORT_US: u64 = 2_000_000;
    let central = phases.iter().rev().find(|p| p.kind == PhaseKind::Measure).or(phases.last());
    let Some(phase) = central else { return whole };
    let at = |seconds: f64| timeline.us(Duration::try_from_secs_f64(seconds).unwrap_or_default());
    let (from, to) = (at(phase.start_s), at(phase.start_s + phase.length_s));
    if to.saturating_sub(from) < SHORT_US { whole } else { (from, to) }
}
