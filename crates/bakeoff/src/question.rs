//! From what a user asks on a command line to a plan that is resolved to the last default.

use archive::model::{
    CpuSplit, FORMAT, Kind, Length, Load, Measure, Plan, Setting, Variant,
};
use host::Host;
use load::inputs::slo::Slo;
use workload::Workload;

use crate::preset::Preset;
use crate::vary::{self, VaryError};

/// What is to be measured, as asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Asked {
    /// The workload's own measure: capacity under its objective.
    #[default]
    Capacity,
    /// Throughput of a closed loop.
    Throughput,
    /// Latency at these rates.
    Latency(Vec<f64>),
}

/// A question as asked.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// The command line, program name first.
    pub command: Vec<String>,
    /// Variants as written: `apache:mpm=event`.
    pub variants: Vec<String>,
    /// The workload's name or path; found by its servers if none is given.
    pub workload: Option<String>,
    /// What is to be measured.
    pub asked: Asked,
    /// The objective; the workload's own if none is given.
    pub slo: Option<String>,
    /// Restricts the mix to one operation.
    pub on_op: Option<String>,
    /// Axes as written; a sweep if there are any.
    pub vary: Vec<String>,
    /// Which preset.
    pub length: Option<Length>,
    /// Another number of blocks than the preset's.
    pub blocks: Option<u32>,
    /// Another number of connections than the workload's.
    pub connections: Option<u32>,
    /// The seed; a new one if none is given.
    pub seed: Option<u32>,
    /// Words to find the run by.
    pub tags: Vec<String>,
}

/// Why a question makes no plan. The user can mend all of these.
#[derive(Debug, thiserror::Error)]
pub enum QuestionError {
    /// Variants, servers or knobs that do not exist.
    #[error(transparent)]
    Workload(#[from] workload::Error),
    /// An axis.
    #[error(transparent)]
    Vary(#[from] VaryError),
    /// An objective.
    #[error(transparent)]
    Slo(#[from] load::inputs::units::UnitError),
    /// Nothing to compare with.
    #[error("a comparison needs two variants: showdown compare nginx apache, or apache:mpm=event apache:mpm=prefork")]
    OneVariant,
    /// Too few blocks for any verdict.
    #[error("{0} blocks cannot give a verdict: ask for {least} at least", least = FEWEST_BLOCKS)]
    TooFewBlocks(u32),
    /// The CPUs of this machine cannot be read.
    #[error("the CPUs of this machine cannot be read: {0}")]
    Cpus(std::io::Error),
}

/// Under this no interval exists.
pub const FEWEST_BLOCKS: u32 = 3;
