//! How long a run takes: the three presets, and why their numbers.
//!
//! | | quick | default | thorough |
//! |---|---|---|---|
//! | for two variants | about a minute | about ten | about an hour |
//! | blocks | 6 | 20 | 40 |
//! | operations that are timed, where one takes long | 1 | 1 | 2 |
//!
//! Six blocks are the fewest for which the signed-rank interval exists at 95 % (decision 0002), so `quick`
//! shortens trials rather than their number; and so does `default`, because trials longer than seconds hardly differ
//! less (decision 0006). Warm-up and closed loop are watched at an interval that gives
//! at least sixty observations, because fewer than fifty are not judged ([`stats::steady`]). A step of the
//! search lasts long enough that a rate 3 % over the capacity queues up the objective's few milliseconds; where the
//! objective allows more, such as the 200 ms of a mail server, steps are made longer ([`long_enough_for`]).

use std::time::Duration;

use archive::model::{Length, Phases, WarmUp};

/// The numbers of a preset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Trials of each variant.
    pub blocks: u32,
    /// Limits of the warm-up.
    pub warm_up: WarmUp,
    /// Length of each phase.
    pub phases: Phases,
    /// Operations that are timed where they are so long that they are counted.
    pub operations: u32,
}

/// Observations that a closed loop gives at least.
const OBSERVATIONS: u32 = 60;
/// Telemetry of a trial of seconds needs more than one sample a second.
const QUICK_TELEMETRY: Duration = Duration::from_millis(250);
/// The usual period of telemetry, 1 Hz.
const TELEMETRY: Duration = Duration::from_secs(1);

/// Fewer trials for a sweep: it has many points, and its curve is read as a whole.
const SWEEP_BLOCKS: u32 = 3;

impl Preset {
    /// The preset of a length.
    pub fn of(length: Length) -> Self {
        let ms = Duration::from_millis;
        let (blocks, most, phases, operations) = match length {
            Length::Quick => (6, 10_000, [1_200, 250, 500, 200], 1),
            Length::Default => (20, 60_000, [4_000, 1_000, 5_000, 1_000], 1),
            Length::Thorough => (40, 180_000, [8_000, 2_000, 15_000, 2_000], 2),
        };
        let [closed_loop, search_step, measure, curve_step] = phases.map(ms);
        Self {
            blocks,
            warm_up: WarmUp { least: closed_loop, most: ms(most) },
            phases: Phases { closed_loop, search_step, measure, curve_step },
            operations,
        }
    }

    /// The same for a sweep.
    pub fn of_sweep(length: Length) -> Self {
        let preset = Self::of(length);
        Self { blocks: preset.blocks.min(SWEEP_BLOCKS), ..preset }
    }
}

/// A step lasts for so many times what the objective allows.
const STEP_OVER_LIMIT: f64 = 10.0;

/// These phases for an objective that allows so many microseconds. In a step that is as short as the limit itself a
/// queue that grows without end does not reach it, and the search finds now this rate and now that: of twelve trials
/// of mail servers at 250 ms a step, five found no rate. At ten times the limit a rate 10 % too high shows.
pub fn long_enough_for(limit_us: f64, phases: &Phases) -> Phases {
    let least = Duration::from_secs_f64(limit_us / 1e6 * STEP_OVER_LIMIT);
    let search_step = phases.search_step.max(least);
    Phases { search_step, measure: phases.measure.max(2 * least), ..phases.clone() }
}

/// Interval at which a phase of this length is watched.
pub fn interval_of(phase: Duration) -> Duration {
    (phase / OBSERVATIONS).clamp(Duration::from_millis(10), Duration::from_millis(100))
}

/// Period of telemetry.
pub fn telemetry_period(length: Length) -> Duration {
    if length == Length::Quick { QUICK_TELEMETRY } else { TELEMETRY }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_objective_that_allows_much_takes_longer_steps() {
        let quick = Preset::of(Length::Quick).phases;
        assert_eq!(long_enough_for(5_000.0, &quick), quick);
        let of_mail = long_enough_for(200_000.0, &quick);
        assert_eq!((of_mail.search_step.as_secs(), of_mail.measure.as_secs()), (2, 4));
    }

    #[test]
    fn every_closed_loop_gives_enough_observations_to_be_judged() {
        for length in [Length::Quick, Length::Default, Length::Thorough] {
            let phase = Preset::of(length).phases.closed_loop;
            let observations = phase.as_nanos() / interval_of(phase).as_nanos();
            assert!(observations >= stats::steady::FEWEST_OBSERVATIONS as u128, "{length:?}: {observations}");
        }
    }
}
