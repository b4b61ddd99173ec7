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
mod format;
mod knob_value;
mod plan;
mod requests;
mod run_file;
mod sessions;
mod statistics;
mod times;
mod trial;
mod tuning;
mod unit;
mod verdict;
mod waits;

pub use concurrency::{
    ChangedSetting, Concurrency, ConcurrencyLimit, ConcurrencyStep, RanOut, Recovery, StepAdvances, StepTimes,
};
pub use cpu_profile::{CpuDifference, CpuProfile, FrameCost, FrameDifference, WAKING};
pub use estimand::{MethodError, OddStarts, RatioDrift, RatioOfMeans};
pub use explanation::{
    Elasticity, ExaminedResource, ExplainedServer, Explanation, ExplanationBasis, Figure, HeldLoad,
    PerturbationOutcome, PerturbedPair, ServerStatistic, Suspect, SuspectWord, Unknown,
};
pub use facts::{
    ConfigFile, FactChange, Facts, FlatFacts, NetworkFacts, Resumption, SharedNetworkFacts, VariantFacts,
};
pub use fairness::{Caveat, Difference, DifferenceClass, OneSidedTuning};
pub use format::FORMAT;
pub use knob_value::KnobValue;
pub use plan::{
    Axis, ClientLoad, CpuSplit, FEWEST_OF_A_KIND, FallbackMeasure, LookSpending, Measure, PhaseLengths, Plan,
    PlanParseError, PlannedBackground, PlannedConcurrency, PlannedHost, PlannedPower, PlannedStudy,
    PlannedTurns, ReplacedMeasure, RunKind, RunLength, Variant, Vary, WarmUpLimits,
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
pub use times::{QuantileCurve, Times};
pub use trial::{
    CarriedLoad, ClientHealth, CountCheck, CpuTimePerOperation, Gate, GateOutcome, Handshakes, InstanceLoads,
    LevelWatts, MeasuredValue, NeighbourEffect, Neighbours, OperationTimes, OutsideOperation, PhaseKind,
    PhaseSlices, PowerLevel, ResourceUse, SaturatedResource, ServerUsage, SpentBound, SpentBudget,
    SweepPoint, Tick, Trial, TrialFiles, TrialMeter, TrialPhase, TrialPower, TrialStatus, TrialTurns,
    UserWalk, WalkedOperation, WarmUpOutcome,
};
pub use tuning::{
    BeforeAfter, MechanismOutcome, TakeHome, TriedTuning, TuningOutcome, TuningRecord, TuningStep,
    UntriedTuning,
};
pub use unit::{or_more, plural, readable, thousands, with_unit, work_of};
pub use verdict::{
    Comparison, CpuTimeModes, CurvePoint, Mode, SweepCurve, TrialValue, VariantSummary, Verdict,
};
pub use waits::{WaitKindTime, WaitPlace, WaitProfile, WaitWaker};
