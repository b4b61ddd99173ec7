//! Progress as one stream of events: bars on a terminal today, JSON lines for a program, a live page later.

use archive::model::{Gate, TrialStatus};
use serde::Serialize;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A setting of the kernel has its value again, which a run that was killed had changed.
    SettingIsPutBack {
        /// Its name.
        setting: String,
        /// What it is now.
        value: String,
    },
    /// A run begins.
    RunBegins {
        /// Its id.
        run: String,
        /// Its directory.
        dir: String,
        /// How many trials it will have.
        trials: u32,
    },
    /// One more block than was planned makes up for trials that do not count.
    BlockIsAdded {
        /// Its number, from 1.
        block: u32,
        /// How many trials the run will have with it.
        trials: u32,
    },
    /// A trial begins.
    TrialBegins {
        /// Its number, from 1.
        number: u32,
        /// Its block, from 1.
        block: u32,
        /// Its variant, and point.
        name: String,
    },
    /// A trial does something else now.
    Doing {
        /// What, in a few words: `starting`, `warming up`, `trying 20,000/s`.
        what: String,
    },
    /// An interval of load has passed.
    Tick {
        /// Operations a second that ended well.
        throughput_per_s: f64,
        /// Median response time, microseconds.
        p50_us: u64,
        /// 99th percentile of response time, microseconds.
        p99_us: u64,
        /// Operations that failed.
        errors: u64,
    },
    /// A trial has ended.
    TrialEnds {
        /// Its number.
        number: u32,
        /// Its variant, and point.
        name: String,
        /// Whether it counts.
        status: TrialStatus,
        /// Its value, if it came so far.
        value: Option<f64>,
        /// The value's unit.
        unit: String,
        /// Why it does not count.
        reasons: Vec<String>,
        /// Gates that failed.
        failed_gates: Vec<Gate>,
    },
    /// The verdict.
    Verdict {
        /// In a sentence.
        sentence: String,
    },
}

/// Whoever watches; called from the thread that gathers what a load measures, too.
pub type Observer<'a> = dyn FnMut(Event) + Send + 'a;
