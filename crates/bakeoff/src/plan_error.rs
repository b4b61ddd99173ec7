//! Why a request has no plan, or a plan cannot be run. The user can correct all of these, so they are usage errors.

use archive::model::FORMAT;

use crate::sweep_axis::AxisError;

/// Why a request has no plan, or a plan cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A workload or server that does not exist.
    #[error(transparent)]
    Lookup(#[from] workload::LookupError),
    /// A server, knob or value of a variant that does not exist.
    #[error(transparent)]
    Variant(#[from] workload::VariantError),
    /// An axis that cannot be read.
    #[error(transparent)]
    Axis(#[from] AxisError),
    /// An objective that cannot be read.
    #[error("slo: {0}")]
    Slo(#[from] load::inputs::units::UnitError),
    /// A comparison of one variant.
    #[error(
        "a comparison needs two variants: write `showdown compare nginx apache` or `showdown compare apache:mpm=event apache:mpm=prefork`"
    )]
    OneVariant,
    /// A plan of another format.
    #[error("the plan has format {0}, and this showdown reads format {FORMAT}: make the plan again")]
    Format(u32),
    /// Too few blocks for a verdict.
    #[error("{blocks} blocks are too few for a verdict: give {fewest} or more")]
    TooFewBlocks {
        /// Blocks of the plan.
        blocks: u32,
        /// The least that has a verdict.
        fewest: u32,
    },
    /// Too many blocks.
    #[error("blocks and spare_blocks: give at most {0} each")]
    TooManyBlocks(u32),
    /// Nothing to run, or nothing to run it with.
    #[error("blocks, connections and threads must be 1 or more")]
    NoLoad,
    /// A background load without a rate or connections.
    #[error("background: give a rate above 0 and 1 connection or more")]
    Background,
    /// A phase without a length.
    #[error("phases.{0} is zero: give a length such as 2s")]
    EmptyPhase(&'static str),
    /// The workload has no operations of that length.
    #[error(
        "the operations of workload {0} are not timed one at a time: use --measure capacity or --measure throughput"
    )]
    NotOneByOne(String),
    /// No operation to time.
    #[error("measure.operations must be 1 or more")]
    NoOperations,
    /// Rates that are not positive numbers.
    #[error("measure.rates_per_s: give rates above 0")]
    Rates,
    /// No CPU list.
    #[error("cpus: {0:?} is not a list of CPUs: write one such as 0 or 0-3,8")]
    CpuList(String),
    /// An operation that the workload does not have.
    #[error(transparent)]
    Operation(#[from] workload::UnknownName),
    /// A kernel setting that the user must allow.
    #[error(
        "the plan sets {0}, which is not one of the usual kernel settings of a comparison: find out what it does, then pass --allow-kernel {0}"
    )]
    KernelSetting(host::knobs::Knob),
    /// A sweep over zero connections.
    #[error("connections must be 1 or more")]
    NoConnections,
    /// More copies of a server than connections to share among them.
    #[error(
        "{name} has more instances ({instances}) than connections ({connections}), so some would have no load: give more connections"
    )]
    IdleInstances {
        /// The variant at its point.
        name: String,
        /// Copies of the server.
        instances: u16,
        /// Connections of the client.
        connections: u32,
    },
    /// The workload makes its own load, which cannot be asked for this.
    #[error(
        "workload {workload} makes its load by itself and {lacks}: use --measure throughput, and vary its knobs"
    )]
    OwnLoad {
        /// The workload.
        workload: String,
        /// What it does not have.
        lacks: &'static str,
    },
    /// The system does not list the CPUs.
    #[error("cannot read the CPUs of this machine: {0}")]
    Cpus(std::io::Error),
}
