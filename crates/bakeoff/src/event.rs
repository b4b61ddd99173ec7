//! Progress of a run as a stream of events: drawn as bars on a terminal, printed as JSON lines for a program.

use archive::model::{Gate, GateOutcome, Trial, TrialStatus};
use serde::Serialize;

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A kernel setting that a killed run had changed is restored.
    KernelSettingRestored {
        /// Name of the setting.
        setting: String,
        /// Its value now.
        value: String,
    },
    /// A kernel setting does not have its old value: a killed run had changed it, or this run has.
    KernelSettingNotRestored {
        /// The setting, the value it should have, why it does not, and the remedy.
        problem: String,
    },
    /// A run begins, or begins again with its first block because its servers must run one at a time.
    RunBegins {
        /// Id of the run.
        run: String,
        /// The run directory.
        dir: String,
        /// Number of trials planned.
        trials: u32,
        /// Number of trials that a resumed run has already; 0 in a new run.
        kept: u32,
    },
    /// The blocks with which most runs end have settled nothing, so this one goes on.
    GoesOn {
        /// The most complete blocks with which it ends.
        blocks: u32,
        /// Number of trials by then.
        trials: u32,
        /// About how long that takes, seconds; none where too few blocks tell.
        left_s: Option<f64>,
        /// What disturbs the run, which is why it goes on for longer than others; none where nothing does.
        company: Option<String>,
    },
    /// A spare block is added to replace invalid trials.
    BlockAdded {
        /// Number of the block, from 1.
        block: u32,
        /// Number of trials of the run, this block included.
        trials: u32,
    },
    /// A trial begins.
    TrialBegins {
        /// Number of the trial, from 1.
        number: u32,
        /// Its block, from 1.
        block: u32,
        /// Its variant, and in a sweep its point.
        name: String,
    },
    /// The network between a client and a server was not measured, so that no trial is checked for it.
    NetworkNotMeasured {
        /// The two machines.
        between: String,
        /// The reason.
        why: String,
    },
    /// The servers of the run cannot be up together: from here on, each trial has the machine to itself.
    OneAtATime {
        /// Why.
        why: String,
    },
    /// The run begins again with its first block, and measures something else: the client was the limit, or a server carries too
    /// little for the rate.
    MeasureReplaced {
        /// The measure from here on, and why it replaces the planned one, in one sentence.
        sentence: String,
    },
    /// What the run knows after a block.
    Precision {
        /// Half the width of the confidence interval of the ratio, as a share of the ratio: of the least certain pair.
        half_width: f64,
        /// Seconds since the run began, or was resumed.
        elapsed_s: f64,
        /// The half-width that the run aims for; none if it has no such aim.
        within: Option<f64>,
        /// What other programs and the hypervisor took so far, in words; none where they kept the limits.
        company: Option<String>,
        /// The half-width that is to be expected at the look that reaches the aim, or else at the end of the run; none where
        /// too few blocks tell.
        expected_half_width: Option<f64>,
        /// Seconds until then.
        left_s: Option<f64>,
    },
    /// The run has ended, and its intervals are wider than it aimed for.
    AimMissed {
        /// The half-width that the run aimed for.
        within: f64,
        /// The half-width that it has.
        half_width: f64,
        /// Number of blocks with which the aim is to be expected; none where no run has so many.
        blocks: Option<u32>,
        /// Seconds that the further ones would take.
        longer_s: Option<f64>,
    },
    /// A trial enters its next activity.
    Doing {
        /// The activity in a few words: `starting`, `warming up`, `trying 20,000/s`.
        what: String,
    },
    /// A search says what it tries next, or what it has learnt: to keep in view beside what is done now. To a program both are the
    /// same.
    #[serde(rename = "doing")]
    Said {
        /// The sentence.
        what: String,
    },
    /// One interval of load has passed.
    Tick {
        /// The variant whose server is under this load.
        name: String,
        /// Operations per second that succeeded.
        throughput_per_s: f64,
        /// Median response time, microseconds; none where no operation ended.
        p50_us: Option<u64>,
        /// 99th percentile of the response time, microseconds.
        p99_us: Option<u64>,
        /// The least response time that is a lower bound: of an operation that was given up.
        #[serde(skip_serializing_if = "Option::is_none")]
        gave_up_from_us: Option<u64>,
        /// Operations that failed.
        failed: u64,
    },
    /// A trial has ended.
    TrialEnds {
        /// Number of the trial.
        number: u32,
        /// Its variant, and in a sweep its point.
        name: String,
        /// Whether it is valid.
        status: TrialStatus,
        /// The measured value; none if the trial ended before it.
        value: Option<f64>,
        /// Unit of the value.
        unit: String,
        /// Why the trial is not valid.
        reasons: Vec<String>,
        /// The gates that failed.
        failed_gates: Vec<Gate>,
    },
    /// The run has its verdict.
    Verdict {
        /// The verdict in one sentence.
        sentence: String,
    },
}

impl Event {
    /// The end of a trial, whose variant and point have this name.
    pub fn trial_ends(name: &str, trial: &Trial) -> Self {
        let failed = trial.gates.iter().filter(|gate| gate.outcome == GateOutcome::Failed).cloned();
        Self::TrialEnds {
            number: trial.number,
            name: name.to_owned(),
            status: trial.status,
            value: trial.measured.as_ref().map(|m| m.value),
            unit: trial.measured.as_ref().map(|m| m.unit.clone()).unwrap_or_default(),
            reasons: trial.reasons.clone(),
            failed_gates: failed.collect(),
        }
    }
}

/// Receives the events. The thread that collects measurements calls it too.
pub type Observer<'a> = dyn FnMut(Event) + Send + 'a;
