//! Steps as they are usual: where a user says nothing, and where trials measure the breaking point.

use std::time::Duration;

use archive::model::PlannedConcurrency;
use load::transfers::SMALLEST_WINDOW;

/// Transfers of the first step, unless there are fewer in all.
const FIRST: u32 = 1_000;
/// Availability from which on clients are comfortable.
const COMFORT_AVAILABILITY: f64 = 0.999;

/// Steps as a user asks for them.
#[derive(Clone, Debug)]
pub struct StepsRequest {
    /// Transfers of the first step.
    pub from: Option<u32>,
    /// The most transfers.
    pub to: u32,
    /// The factor of a step.
    pub step: f64,
    /// Finer steps near the break.
    pub finer: u32,
    /// The availability below which the server is broken, 0 to 1.
    pub until_availability: f64,
    /// The pace of a client, bytes a second.
    pub pace_bytes_per_s: Option<u64>,
    /// How long a step is maintained at least.
    pub step_length: Duration,
    /// The same of the last step.
    pub last_step_length: Option<Duration>,
    /// Clients that begin a second, at most.
    pub begin_per_s: f64,
    /// A first byte within this time is comfortable.
    pub comfort_first_byte: Duration,
    /// Whether kernel settings are left as they are.
    pub keep_settings: bool,
}

impl StepsRequest {
    /// The steps, with what is usual where nothing is said.
    pub fn steps(&self) -> PlannedConcurrency {
        let pace = self.pace_bytes_per_s.unwrap_or_else(|| usual_pace(self.to));
        PlannedConcurrency {
            from: self.from.unwrap_or(FIRST.min(self.to)),
            to: self.to,
            step: self.step,
            finer: self.finer,
            until_availability: self.until_availability,
            pace_bytes_per_s: pace as f64,
            step_length: self.step_length,
            last_step_length: self.last_step_length.unwrap_or(self.step_length),
            begin_per_s: self.begin_per_s,
            comfort_availability: COMFORT_AVAILABILITY,
            comfort_first_byte: self.comfort_first_byte,
            keep_settings: self.keep_settings,
            url: None,
        }
    }
}

/// The steps of trials whose value is the breaking point: few, short, and up to this number.
pub fn steps_of_trials(to: Option<u32>) -> PlannedConcurrency {
    const MOST: u32 = 20_000;
    const FROM: u32 = 100;
    let to = to.unwrap_or(MOST);
    let step_length = Duration::from_secs(4);
    let request = StepsRequest {
        from: Some(FROM.min(to)),
        to,
        step: 2.0,
        finer: 2,
        until_availability: 0.5,
        pace_bytes_per_s: None,
        step_length,
        last_step_length: None,
        begin_per_s: 10_000.0,
        comfort_first_byte: Duration::from_secs(1),
        keep_settings: false,
    };
    request.steps()
}

/// Bytes a second for each client, so that all clients together empty 20,000 windows a second, and each client at least one in 28 s. A
/// read empties a window.
fn usual_pace(transfers: u32) -> u64 {
    const WINDOWS_PER_S: f64 = 20_000.0;
    const LONGEST_S: f64 = 28.0;
    let interval_s = (f64::from(transfers) / WINDOWS_PER_S).clamp(1.0, LONGEST_S);
    #[expect(clippy::cast_possible_truncation, reason = "at most a window of bytes")]
    let bytes_per_s = (f64::from(SMALLEST_WINDOW) / interval_s).ceil() as u64;
    bytes_per_s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_of_many_transfers_read_more_slowly() {
        assert_eq!([2_000, 80_000, 10_000_000].map(usual_pace), [1_792, 448, 64]);
    }

    #[test]
    fn trials_begin_low_and_end_where_the_user_says() {
        let (usual, few) = (steps_of_trials(None), steps_of_trials(Some(50)));
        assert_eq!((usual.from, usual.to, usual.pace_bytes_per_s), (100, 20_000, 1_792.0));
        assert_eq!((few.from, few.to, few.last_step_length), (50, 50, Duration::from_secs(4)));
    }
}
