//! Why a request has no plan, or a plan cannot be run. The user can correct all of these, so they are usage errors.

use archive::model::FORMAT;

use machine::PlannedHostError;

use crate::plan::sweep_axis::AxisError;

/// Why a request has no plan, or a plan cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A workload or server that does not exist.
    #[error(transparent)]
    Lookup(#[from] workload::LookupError),
    /// A server, knob or value of a variant that does not exist.
    #[error(transparent)]
    Variant(#[from] workload::VariantError),
    /// A label that is none.
    #[error("{0:?} is no label: write letters, digits, - _ and . (at most 40), as in old=nginx:sendfile=off")]
    Label(String),
    /// Two variants with one name.
    #[error("two variants are called {0}: give each a label of its own")]
    SameLabel(String),
    /// Numbers of the load that do not follow from a variant's knobs and its users.
    #[error(transparent)]
    Numbers(#[from] workload::definition::FileError),
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
    /// A plan with trials, given to a command that explains.
    #[error("the plan is one of a comparison or sweep: run it with `showdown run`")]
    NoExplanation,
    /// A plan without trials, given to a command that runs them.
    #[error("the plan has no trials: run it with `showdown run`")]
    NoTrials,
    /// A plan of transfers without their steps, or another plan, given to a command that makes transfers.
    #[error("the plan has no [concurrency]: run it with `showdown run`")]
    NoSteps,
    /// An explanation of none, or of more servers than can be set side by side.
    #[error("give one variant to explain, or two whose CPU time is compared")]
    ExplainedVariants,
    /// Servers that cannot be up together.
    #[error("two servers are explained side by side, and these cannot be up together ({0}): explain one")]
    ExplainedTogether(&'static str),
    /// Servers on other machines.
    #[error(
        "{0} is on another machine, where servers cannot be explained from here: run `showdown explain` on that host"
    )]
    ExplainedElsewhere(String),
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
    /// More connections than any machine has, or none.
    #[error("{key}: give whole numbers from 1 to {most}")]
    Connections {
        /// The key of the plan, or the axis.
        key: &'static str,
        /// The most.
        most: u32,
    },
    /// More threads than any machine runs well.
    #[error("load.threads: give at most {0}")]
    Threads(u32),
    /// A background load without a rate or connections, or with too many.
    #[error("background: give a rate above 0 and up to 10M a second, and 1 to {most} connections")]
    Background {
        /// The most connections.
        most: u32,
    },
    /// No variant, an axis without values, or too many combinations.
    #[error("variants and sweep: give 1 to {most} combinations of variants and values")]
    Points {
        /// The most.
        most: usize,
    },
    /// Too many values on an axis.
    #[error("sweep over {axis}: give at most {most} values")]
    AxisValues {
        /// The axis.
        axis: String,
        /// The most.
        most: usize,
    },
    /// Servers that cannot be loaded in turns.
    #[error("turns: {0}")]
    Turns(&'static str),
    /// The study of an explanation, or of another run.
    #[error("study: {0}")]
    Study(String),
    /// Levels of load at which watts cannot be measured.
    #[error("power: {0}")]
    Power(&'static str),
    /// An objective that the measure has no use for.
    #[error("--slo has no effect on this measure: leave it out, or pass --measure capacity")]
    UnusedSlo,
    /// Looks that are not.
    #[error("looks: give rising numbers of blocks, from 3 to less than blocks")]
    Looks,
    /// A precision that is none.
    #[error("within: give a share above 0 and up to 1, such as 0.02")]
    Within,
    /// A phase without a length.
    #[error("{0} is zero: give a length such as 2s")]
    EmptyPhase(&'static str),
    /// A phase that never ends.
    #[error("{0}: give a length of at most 7 days")]
    LongPhase(&'static str),
    /// The workload has no operations of that length.
    #[error(
        "the operations of workload {0} are not timed one at a time: use --measure capacity or --measure throughput"
    )]
    NotOneByOne(String),
    /// No operation to time, or too many.
    #[error("measure.operations must be 1 to {0}")]
    Operations(u32),
    /// Rates that cannot be offered.
    #[error("rates: give at most {most} of them, each above 0 and up to 10M a second")]
    Rates {
        /// The most.
        most: usize,
    },
    /// A rate for CPU time that cannot be offered.
    #[error("measure.rate_per_s (--rate): give a rate above 0 and up to 10M a second")]
    CpuTimeRate,
    /// CPU time of two loads.
    #[error(
        "the server's CPU time would contain that of the background load: leave out --background, or pass another --measure"
    )]
    CpuTimeWithBackground,
    /// A measure that has no rate, or rates of its own, in a sweep over the rate.
    #[error(
        "a sweep over the rate measures at its rates: pass --measure latency without --rates, or --measure cpu"
    )]
    SweptRate,
    /// Response times at no rate.
    #[error("response times need rates: give operations per second, such as --rates 10k,20k")]
    NoRates,
    /// A sweep of CPU time without a rate, or with two.
    #[error(
        "a sweep of CPU time needs one rate, or varies it: pass either --rate 10k or --vary rate=5k..40k"
    )]
    CpuTimeOfSweep,
    /// A breaking point that no trial can measure.
    #[error("breaking point: {0}")]
    BreakingPoint(&'static str),
    /// A measure at rates of a load of users.
    #[error(
        "{0} has users, whose delays give the rate: measure cpu, latency or throughput, without rates, a background load or levels of power; or pass --on-op for one operation"
    )]
    UsersAtRate(String),
    /// A sweep over users of a load without any.
    #[error("{0} has no users to vary: pass --vary connections=…, or give the workload [load.users]")]
    NoUsersToVary(String),
    /// A measure that visits have none of.
    #[error("{0} has visits, which arrive at a rate of their own: measure cpu or latency")]
    VisitsAtRate(String),
    /// A measure of users of a load without any.
    #[error("{0} has no users: choose another measure")]
    NoUsers(String),
    /// A machine that cannot be made quieter.
    #[error("--quiet-host: {0}")]
    QuietHost(&'static str),
    /// A fallback where CPU time is no answer.
    #[error(
        "fallback: only a comparison of capacity, throughput or bytes has one, without a background load or a runner: remove it"
    )]
    Fallback,
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
    /// A variant names a machine that the hosts file, or the plan, does not have.
    #[error("there is no host {name:?}{known}: give a host of the hosts file")]
    UnknownHost {
        /// The name as given.
        name: String,
        /// The known ones.
        known: String,
    },
    /// A variant names a kind of which the hosts file, or the plan, has no machine.
    #[error(
        "no host beside the clients is of the kind {kind:?}{known}: give the hosts of that kind the key `kind`"
    )]
    UnknownKind {
        /// The kind as given.
        kind: String,
        /// The known ones.
        known: String,
    },
    /// A kind has this machine.
    #[error(
        "host {host} of the kind {kind:?} has no `ssh`, and the machines of a kind are others than this one: add it, or take the kind away"
    )]
    KindIsHere {
        /// The kind.
        kind: String,
        /// This machine's name.
        host: String,
    },
    /// An entry of a host that cannot be used.
    #[error(transparent)]
    Host(#[from] PlannedHostError),
    /// Two entries of hosts that a plan cannot have together.
    #[error("hosts: {0:?} is there twice: give each host its own name")]
    HostTwice(String),
    /// A host is a client twice.
    #[error("client {0} is named twice: name each once")]
    ClientTwice(String),
    /// A client has no way to a server of this machine's loopback.
    #[error(
        "client {client} cannot reach {variant} on this machine's loopback: pass --on HOST (a host without ssh is this \
         machine, by its address)"
    )]
    OutOfReach {
        /// The client.
        client: String,
        /// The variant.
        variant: String,
    },
    /// Nobody knows before how long a trial takes.
    #[error(
        "how long an operation takes here is not known before it runs, so --for cannot be kept: pass --blocks instead"
    )]
    NoTimeLimit,
    /// A program that makes its own load runs beside its client.
    #[error(
        "workload {0} makes its load by itself, beside the server: run showdown on that host, without @HOST"
    )]
    OwnLoadOnHost(String),
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
