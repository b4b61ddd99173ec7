//! The data of a run directory: one module for each file, and modules for shared parts.
//!
//! | file | type |
//! |---|---|
//! | `plan.toml` | [`Plan`] |
//! | `facts.json` | [`Facts`] |
//! | `trials/NNN-variant/trial.json` | [`Trial`] |
//! | `verdict.json` | [`Verdict`] |
//! | `explanation.json` | [`Explanation`] |
//! | `concurrency.json` | [`Concurrency`] |
//! | `tuning.json` | [`TuningRecord`] |
//!
//! These types are the file format; `docs/FORMATS.md` documents every key. Readers ignore unknown JSON keys, and
//! writers may omit a key that has a default, so new keys need no new [`FORMAT`]. File names are relative to the run
//! directory, with `/`.

mod answer_text;
mod concurrency;
mod cpu_profile;
mod estimand;
mod explanation;
mod facts;
mod fairness;
mod knob_value;
mod plan;
mod requests;
mod run_file;
mod sessions;
mod statistics;
mod trial;
mod tuning;
mod unit;
pub(crate) mod upgrade;
mod verdict;
mod waits;

pub use concurrency::{
    ChangedSetting, Concurrency, ConcurrencyLimit, ConcurrencyStep, RanOut, Recovery, StepAdvances, StepTimes,
};
pub use cpu_profile::{CpuDifference, CpuProfile, FrameCost, FrameDifference, WAKING};
pub use estimand::{MethodError, OddStarts, RatioDrift, RatioOfMeans};
pub use explanation::{
    Elasticity, ExaminedResource, ExplainedServer, Explanation, ExplanationBasis, Figure, LoopLoad,
    PerturbationOutcome, PerturbedPair, ServerStatistic, Suspect, SuspectWord, Unknown,
};
pub use facts::{
    COMPANION_FACTS, ConfigFile, FactChange, Facts, FlatFacts, NetworkFacts, Resumption, SharedNetworkFacts,
    VariantFacts,
};
pub use fairness::{Caveat, Difference, DifferenceClass, OneSidedTuning};
pub use knob_value::KnobValue;
pub use plan::{
    Axis, ClientLoad, CpuSplit, FEWEST_OF_A_KIND, FallbackMeasure, LookSpending, Measure, PhaseLengths, Plan,
    PlanParseError, PlannedBackground, PlannedConcurrency, PlannedHost, PlannedPower, PlannedStudy,
    PlannedTurns, ReplacedMeasure, RunKind, RunLength, Variant, Vary, WarmUpLimits, Worse, WorseParseError,
    length_text,
};
pub use requests::{
    RequestFunction, RequestPart, RequestStep, SlowRequests, ThreadsMeanwhile, TracedRequest,
};
pub(crate) use run_file::RunFile;
pub use sessions::{LeftOutRun, PairOverSessions, SessionEstimate, SessionRun, Sessions};
pub use statistics::{
    ComparisonSide, ComparisonVerdict, ConfidenceInterval, InconclusiveReason, IntervalMethod, NoFitReason,
    RatioEstimate, Scalability, ScalabilityFit, SteadyState, UnsteadyReason,
};
pub use stats::times::Times;
pub use trial::{
    CarriedLoad, ClientHealth, CountCheck, CpuTimePerOperation, DelayedAck, Gate, GateOutcome, Handshakes,
    InstanceLoads, LevelWatts, MeasuredValue, NeighbourEffect, Neighbours, OperationTimes, OutsideOperation,
    PartCpuTime, PartUsage, PhaseKind, PhaseSlices, PowerLevel, Refusal, RefusedWhen, ResourceUse,
    SaturatedResource, ServerUsage, SpentBound, SpentBudget, SweepPoint, Tick, Trial, TrialFiles, TrialMeter,
    TrialPhase, TrialPower, TrialStatus, TrialTurns, UserWalk, WalkedOperation, WarmUpOutcome,
};
pub use tuning::{
    BeforeAfter, MechanismOutcome, TakeHome, TriedTuning, TuningOutcome, TuningRecord, TuningStep,
    UntriedTuning,
};
pub use unit::{or_more, plural, readable, thousands, with_unit, work_of};
pub use verdict::{
    AtCapacity, Comparison, CpuTimeModes, CurvePoint, Mode, PartSummary, SweepCurve, TrialValue,
    VariantSummary, Verdict,
};
pub use waits::{WaitKindTime, WaitPlace, WaitProfile, WaitWaker};

/// Version of the run directory's formats. It rises when an older reader would read a file wrongly;
/// `upgrade` reads files of earlier formats.
pub const FORMAT: u32 = 2;

/// A distribution of times as a curve over the percentile axis, from a merged histogram: percentiles are never averaged.
///
/// Pairs of a share of the values (0 to 1) and microseconds, both ascending: that share of the values is at or below
/// the time. Use the steps of `HdrHistogram`'s percentile iterator: a few for each halving of the distance to 1, up
/// to 0.9999 or as far as the number of values allows. Some sixty pairs draw a smooth line.
pub type QuantileCurve = Vec<(f64, u64)>;
