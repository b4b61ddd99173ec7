//! Watts beside the load of a trial: what meters measured while the server carried shares of its full load, and none.

use serde::{Deserialize, Serialize};

/// The meters of a trial, and its levels of load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialPower {
    /// The meters of the server's machine.
    pub meters: Vec<TrialMeter>,
    /// The levels in order of time: from the full load down, active idle last. Empty where nothing was measured that a load
    /// could be a share of.
    pub levels: Vec<PowerLevel>,
}

/// A meter during a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialMeter {
    /// The name that the user gave it, such as `rack`; the column of its watts in `power.parquet`.
    pub name: String,
    /// How it is read, such as `apc-rpdu2`.
    pub kind: String,
    /// What its watts include, such as `wall` or `package`. Watts of different boundaries are never added or compared.
    pub boundary: String,
    /// The largest error of a reading in percent, where it is known.
    pub uncertainty_percent: Option<f64>,
    /// Whether that error is above 1 % or unknown, so that the watts are indicative only.
    pub is_indicative: bool,
    /// Readings with watts during the trial.
    pub samples: u64,
    /// Readings without watts.
    pub failures: u64,
    /// The last reason for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// A time of constant load, with its watts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PowerLevel {
    /// The share of the full load that was offered, 1 for all of it and 0 for active idle: the server is up and its connections
    /// are open.
    pub share: f64,
    /// When the watts begin to count, seconds from the start of the trial. The load began before, to settle.
    pub start_s: f64,
    /// For how long they count, seconds.
    pub length_s: f64,
    /// Operations per second that were due; `None` in a closed loop and in active idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_per_s: Option<f64>,
    /// Operations per second that succeeded, or megabytes per second where the trial measures those.
    pub work_per_s: f64,
    /// 99th percentile of response time, microseconds; `None` where no operation ended.
    pub p99_us: Option<u64>,
    /// The least response time that is a lower bound, microseconds: an operation was given up. `None` where all had an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gave_up_from_us: Option<u64>,
    /// The watts of each meter that gave some in this time.
    pub watts: Vec<LevelWatts>,
}

/// The watts of a meter at a level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelWatts {
    /// Its name.
    pub meter: String,
    /// Their mean over the level.
    pub mean: f64,
    /// The lowest reading.
    pub min: f64,
    /// The highest reading.
    pub max: f64,
    /// The number of readings.
    pub samples: u32,
}

impl PowerLevel {
    /// Whether nothing was offered.
    pub fn is_idle(&self) -> bool {
        self.share == 0.0
    }

    /// The watts of a meter.
    pub fn watts_of(&self, meter: &str) -> Option<f64> {
        self.watts.iter().find(|watts| watts.meter == meter).map(|watts| watts.mean)
    }
}
